import type { CatalogProvider } from '../../catalog/model.ts'

/** Headers of one connection, and of its framing. */
const connectionHeaders = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'content-length', 'content-encoding'],
]

/** Besides credentials: what identifies the client to this server, and what selects an account at the provider. */
const ownRequestHeaders: ReadonlySet<string> = new Set([
  ...connectionHeaders,
  ...['host', 'accept-encoding', 'expect', 'user-agent', 'cookie', 'origin', 'referer', 'http-referer'],
  ...['x-title', 'authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'forwarded', 'via', 'x-real-ip'],
  ...['x-session-id', 'x-request-id', 'traceparent', 'tracestate', 'baggage', 'x-goog-user-project'],
  ...['openai-organization', 'openai-project', 'x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256'],
])
const ownRequestPrefixes = [
  'x-headgate-',
  'x-service-',
  'x-forwarded-',
  'sec-',
  'cf-',
  'helicone-',
  'x-portkey-',
]

/** Besides cookies: what identifies the account, what browsers would apply to this server, and its own headers. */
const ownResponseHeaders: ReadonlySet<string> = new Set([
  ...connectionHeaders,
  ...[
    'set-cookie',
    'set-cookie2',
    'www-authenticate',
    'authorization',
    'server',
    'via',
    'alt-svc',
    'location',
  ],
  ...['openai-organization', 'openai-project', 'anthropic-organization-id', 'x-request-id', 'request-id'],
  ...['strict-transport-security', 'content-security-policy', 'clear-site-data', 'refresh', 'link', 'nel'],
  ...['x-generation-id', 'cache-control', 'report-to', 'service-worker-allowed', 'x-api-key', 'api-key'],
])
const ownResponsePrefixes = [
  'x-headgate-',
  'access-control-',
  'cross-origin-',
  'cf-',
  'x-amzn-trace',
  'x-goog-user',
]

const maxHeaders = 100
const maxHeaderBytes = 16 * 1024

/** The headers of a request that the provider receives. Those that the operator declares for it are not replaced. */
export function selectRequestHeaders(headers: Headers, provider: CatalogProvider): Record<string, string> {
  const declared = new Set(Object.keys(provider.headers ?? {}).map((name) => name.toLowerCase()))
  if (provider.keyHeader) declared.add(provider.keyHeader.toLowerCase())
  const named = (headers.get('connection') ?? '').toLowerCase().split(/\s*,\s*/)
  for (const name of named) declared.add(name)
  return select(headers, (name) => {
    return !declared.has(name) && !ownRequestHeaders.has(name) && !hasPrefix(name, ownRequestPrefixes)
  })
}

/** The headers of a reply that the client receives; none with a secret. */
export function selectResponseHeaders(headers: Headers, secrets: readonly string[]): Record<string, string> {
  const selected = select(headers, (name, value) => {
    if (ownResponseHeaders.has(name) || hasPrefix(name, ownResponsePrefixes)) return false
    return !secrets.some((secret) => secret !== '' && value.includes(secret))
  })
  return {
    ...selected,
    'cache-control': 'no-store, no-transform',
    // The provider's content has this server's origin.
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
  }
}

function hasPrefix(name: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix))
}

function select(
  headers: Headers,
  includes: (name: string, value: string) => boolean,
): Record<string, string> {
  const selected: Record<string, string> = {}
  let count = 0
  let bytes = 0
  for (const [name, value] of headers) {
    if (!includes(name, value)) continue
    count += 1
    bytes += name.length + value.length
    if (count > maxHeaders || bytes > maxHeaderBytes) break
    selected[name] = value
  }
  return selected
}

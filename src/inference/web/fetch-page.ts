import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import {
  type DnsResolver,
  EgressError,
  type EgressErrorKind,
  sendBuffered,
} from '../../platform/http/egress-client.ts'
import { version } from '../../platform/version.ts'
import { type DomainRule, findDomainBlock } from './domains.ts'
import type { WebSettings } from './settings.ts'

export interface FetchContext {
  settings: { egress: { allow_private: readonly string[] }; web: WebSettings }
  /** Injected by tests. */
  resolve?: DnsResolver
}

export interface FetchOptions {
  allowedDomains: readonly DomainRule[]
  blockedDomains: readonly DomainRule[]
  signal: AbortSignal
}

/** An error that the model and the client see: no address of a host, nothing of the response. */
export interface PageError {
  code: PageErrorCode
  message: string
  /** HTTP status of the page, if it replied. */
  status: number | null
}

export type PageErrorCode =
  | 'invalid_url'
  | 'blocked_domain'
  | 'private_address'
  | 'unreachable'
  | 'timeout'
  | 'canceled'
  | 'too_large'
  | 'too_many_redirects'
  | 'http_error'
  | 'unsupported_content_type'
  | 'unreadable'
  | 'unavailable'

export interface FetchedPage {
  /** The address after redirects. */
  url: string
  status: number
  contentType: string
  bytes: Uint8Array
}

export type FetchOutcome = { ok: true; page: FetchedPage } | { ok: false; error: PageError }

const maxRedirects = 5
const redirectStatuses = new Set([301, 302, 303, 307, 308])
const maxUrlLength = 4_000
const headers = {
  'user-agent': `Headgate/${version}`,
  accept:
    'text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,application/pdf;q=0.8,*/*;q=0.1',
  'accept-encoding': 'identity',
}

/** Each redirect is subject to the same rules. Never throws. */
export async function fetchPage(
  context: FetchContext,
  address: string,
  options: FetchOptions,
): Promise<FetchOutcome> {
  const deadline = performance.now() + context.settings.web.fetch.timeout
  let target = address
  for (let hops = 0; hops <= maxRedirects; hops++) {
    const url = target.length > maxUrlLength ? null : URL.parse(target)
    const problem = findProblem(url, options)
    if (problem || url === null) return fail(problem ?? pageError('invalid_url'))
    // The fragment is not sent, and a redirect may not change it.
    url.hash = ''
    const step = await requestPage(context, url, deadline - performance.now(), options.signal)
    if (!('location' in step)) return step
    target = URL.parse(step.location, url.href)?.href ?? step.location
  }
  return fail(pageError('too_many_redirects'))
}

function findProblem(url: URL | null, options: FetchOptions): PageError | null {
  if (url === null || !/^https?:$/.test(url.protocol)) return pageError('invalid_url')
  const block = findDomainBlock(url, options.allowedDomains, options.blockedDomains)
  return block === null ? null : pageError('blocked_domain')
}

async function requestPage(
  { settings, resolve }: FetchContext,
  url: URL,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<FetchOutcome | { location: string }> {
  const { max_bytes: maxBytes } = settings.web.fetch
  if (timeoutMs <= 0) return fail(pageError('timeout'))
  try {
    const {
      status,
      headers: received,
      bytes,
    } = await sendBuffered(
      { url: url.href, method: 'GET', headers },
      {
        allowPrivate: settings.egress.allow_private,
        allowPlainHttp: true,
        timeoutMs,
        maxBytes,
        signal,
        ...(resolve && { resolve }),
      },
    )
    const location = received.get('location')
    if (redirectStatuses.has(status) && location !== null) return { location }
    if (status < 200 || status >= 300) return fail(pageError('http_error', status))
    const body = await decompress(bytes, received.get('content-encoding'), maxBytes)
    if (body === null) return fail(pageError('unreadable', status))
    const contentType = received.get('content-type') ?? ''
    return { ok: true, page: { url: url.href, status, contentType, bytes: body } }
  } catch (error) {
    if (signal.aborted) return fail(pageError('canceled'))
    return fail(pageError(error instanceof EgressError ? codesByKind[error.kind] : 'unreadable'))
  }
}

const decompressors = new Map(
  Object.entries({
    gzip: promisify(gunzip),
    'x-gzip': promisify(gunzip),
    deflate: promisify(inflate),
    br: promisify(brotliDecompress),
  }),
)

/**
 * Decompresses the content of servers that compress although the request forbids it. Null: damaged, too large, or of an
 * unknown kind.
 */
async function decompress(
  bytes: Uint8Array,
  encoding: string | null,
  maxOutputLength: number,
): Promise<Uint8Array | null> {
  const name = encoding?.trim().toLowerCase() || 'identity'
  if (name === 'identity') return bytes
  try {
    return (await decompressors.get(name)?.(bytes, { maxOutputLength })) ?? null
  } catch {
    return null
  }
}

const codesByKind: Record<EgressErrorKind, PageErrorCode> = {
  url: 'private_address',
  address: 'private_address',
  unresolved: 'unreachable',
  unreachable: 'unreachable',
  certificate: 'unreachable',
  timeout: 'timeout',
  too_large: 'too_large',
  request: 'invalid_url',
}

const messages: Record<PageErrorCode, string> = {
  invalid_url: 'The URL must be an absolute http or https URL without a user name or password.',
  blocked_domain: 'The domain is not allowed for this request.',
  private_address: 'The URL is not one of the public web.',
  unreachable: 'The host of the page could not be reached.',
  timeout: 'The page did not load in time.',
  canceled: 'The request ended before the page was read.',
  too_large: 'The page is too large.',
  too_many_redirects: 'The page redirects too often.',
  http_error: 'The page could not be loaded.',
  unsupported_content_type: 'The content of the page is neither HTML, text, JSON nor PDF.',
  unreadable: 'The content of the page could not be read.',
  unavailable: 'Too many pages are being read. Try again later.',
}

export function pageError(code: PageErrorCode, status: number | null = null): PageError {
  const message = code === 'http_error' ? `The page replied with status ${status}.` : messages[code]
  return { code, message, status }
}

function fail(error: PageError): { ok: false; error: PageError } {
  return { ok: false, error }
}

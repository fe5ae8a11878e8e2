import type { Gateway } from '../../app/gateway.ts'

/** Where it comes from; not how it is to be served, which a nested request says itself. */
const inheritedHeaders = [
  ...['http-referer', 'x-title', 'x-headgate-title', 'x-openrouter-title'],
  ...['user-agent', 'x-request-id', 'traceparent', 'tracestate'],
]

/** The HTTP request of a nested request: ends with the other one, and after the time of a whole reply. */
export function createNestedHttpRequest(
  { settings }: Gateway,
  { url, headers }: Request,
  signal: AbortSignal,
): Request {
  const inherited = inheritedHeaders.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [[name, value] as [string, string]]
  })
  const timeout = AbortSignal.timeout(settings.limits.whole_reply)
  return new Request(url, {
    method: 'POST',
    headers: new Headers(inherited),
    signal: AbortSignal.any([signal, timeout]),
  })
}

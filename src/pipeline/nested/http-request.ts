import type { Gateway } from '../../app/gateway.ts'

/** Headers that identify the client and the trace. Those that control how a request is served are not inherited. */
const inheritedHeaders = [
  ...['http-referer', 'x-title', 'x-headgate-title', 'x-openrouter-title'],
  ...['user-agent', 'x-request-id', 'traceparent', 'tracestate'],
]

/** The HTTP request of a nested request: aborted with the outer request, or after `limits.whole_reply`. */
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

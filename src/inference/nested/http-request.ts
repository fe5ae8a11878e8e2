import { listServiceHeaders } from '../../formats/synonyms.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { LinkedAbortController } from '../../platform/concurrency/linked-abort-controller.ts'
import { shareRequestId } from '../../platform/http/request-id.ts'

/** Headers that identify the client and the trace. Those that control how a request is served are not inherited. */
const inheritedHeaders = [
  ...['http-referer', 'x-title', 'x-headgate-title', ...listServiceHeaders('title')],
  ...['user-agent', 'traceparent', 'tracestate'],
]

/** Runs a nested request with an HTTP request that is aborted with the outer one, or after `limits.whole_reply`. */
export async function withNestedHttpRequest<T>(
  { settings }: Gateway,
  outer: Request,
  outerSignal: AbortSignal,
  run: (httpRequest: Request) => Promise<T>,
): Promise<T> {
  const { url, headers } = outer
  const inherited = inheritedHeaders.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [[name, value] as [string, string]]
  })
  const abort = new LinkedAbortController([outerSignal], settings.limits.whole_reply)
  try {
    const nested = new Request(url, {
      method: 'POST',
      headers: new Headers(inherited),
      signal: abort.signal,
    })
    shareRequestId(outer, nested)
    return await run(nested)
  } finally {
    abort.close()
  }
}

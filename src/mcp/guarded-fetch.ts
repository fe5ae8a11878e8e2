import { type EgressOptions, sendStreaming } from '../lib/egress-client.ts'
import { LinkedAbortController } from '../lib/linked-abort-controller.ts'

export interface McpEgress extends EgressOptions {
  connectMs: number
  /** Of one response; streams of servers included. */
  maxBytes: number
  /** Ends all requests to the server. */
  signal: AbortSignal
}

const methods = ['GET', 'POST', 'DELETE'] as const

/** `fetch` for the protocol's client, through the rules for addresses that users choose. Redirects are not followed. */
export function createGuardedFetch(egress: McpEgress) {
  return async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const method = methods.find((name) => name === (init.method ?? 'GET'))
    if (!method) throw new Error(`method ${init.method} is not allowed`)
    if (init.body != null && typeof init.body !== 'string') throw new Error('bodies are text')
    const sources = init.signal ? [egress.signal, init.signal] : [egress.signal]
    const { signal } = new LinkedAbortController(sources)
    const headers = Object.fromEntries(new Headers(init.headers))
    const request = { url: String(input), method, headers: { ...headers, 'accept-encoding': 'identity' } }
    const response = await sendStreaming({ ...request, body: init.body ?? null }, { ...egress, signal })
    return limitBody(response, egress.maxBytes)
  }
}

function limitBody(response: Response, maxBytes: number): Response {
  if (!response.body) return response
  let size = 0
  const limiter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.length
      if (size > maxBytes) controller.error(new Error('The response of the MCP server is too large.'))
      else controller.enqueue(chunk)
    },
  })
  const { status, headers } = response
  return new Response(response.body.pipeThrough(limiter), { status, headers })
}

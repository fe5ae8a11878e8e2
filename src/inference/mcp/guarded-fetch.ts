import { LinkedAbortController } from '../../platform/concurrency/linked-abort-controller.ts'
import { EgressError, type EgressOptions, sendStreaming } from '../../platform/http/egress-client.ts'
import { SseError, SseReader } from '../../platform/http/sse.ts'
import { assertJsonBounds } from '../../platform/json/json-bounds.ts'
import { JsonError } from '../../platform/json/json-error.ts'

export interface McpEgress extends EgressOptions {
  connectMs: number
  /** Bytes of one response; streams of servers included. */
  maxBytes: number
  /** Ends all requests to the server. */
  signal: AbortSignal
}

const methods = ['GET', 'POST', 'DELETE'] as const

/** JSON values of a message. */
const maxValues = 50_000
/** Messages of one response: the client handles each as it arrives. */
const maxMessages = 1000

/**
 * `fetch` for the protocol's client, through the rules for addresses that users choose. Redirects are not followed.
 * Messages are bounded before the client parses them; it does not report an error within a stream, so `onExcess` does.
 */
export function createGuardedFetch(egress: McpEgress, onExcess: (error: EgressError) => void) {
  return async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const method = methods.find((name) => name === (init.method ?? 'GET'))
    if (!method) throw new Error(`method ${init.method} is not allowed`)
    if (init.body != null && typeof init.body !== 'string') throw new Error('bodies are text')
    const sources = init.signal ? [egress.signal, init.signal] : [egress.signal]
    const { signal } = new LinkedAbortController(sources)
    const headers = Object.fromEntries(new Headers(init.headers))
    const request = { url: String(input), method, headers: { ...headers, 'accept-encoding': 'identity' } }
    const response = await sendStreaming({ ...request, body: init.body ?? null }, { ...egress, signal })
    return limitBody(response, egress.maxBytes, onExcess)
  }
}

function limitBody(response: Response, maxBytes: number, onExcess: (error: EgressError) => void): Response {
  if (!response.body) return response
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false
  const reader = isStream ? new StreamBounds(maxBytes) : new DocumentBounds(maxBytes)
  const limiter = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => forward(controller, () => reader.push(chunk)),
    flush: (controller) => forward(controller, () => reader.end()),
  })
  const forward = (
    controller: TransformStreamDefaultController<Uint8Array>,
    read: () => Uint8Array | null,
  ): void => {
    try {
      const bytes = read()
      if (bytes) controller.enqueue(bytes)
    } catch (cause) {
      const error = toExcessError(cause)
      onExcess(error)
      controller.error(error)
    }
  }
  const { status, headers } = response
  return new Response(response.body.pipeThrough(limiter), { status, headers })
}

function toExcessError(cause: unknown): EgressError {
  if (cause instanceof EgressError) return cause
  const problem = cause instanceof JsonError || cause instanceof SseError ? cause.message : 'not readable'
  return new EgressError('too_large', `A message of the MCP server is ${problem}.`)
}

/** Passes a stream on, message by message. */
class StreamBounds {
  readonly #maxBytes: number
  readonly #frames = new SseReader()
  #bytes = 0
  #messages = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(chunk: Uint8Array): Uint8Array {
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) throw tooLargeError()
    for (const { data } of this.#frames.push(chunk)) {
      if (++this.#messages > maxMessages)
        throw new EgressError('too_large', `The MCP server sent more than ${maxMessages} messages at once.`)
      assertJsonBounds(data, maxValues)
    }
    return chunk
  }

  end(): null {
    return null
  }
}

/** Passes a response on when all of it has arrived. */
class DocumentBounds {
  readonly #maxBytes: number
  readonly #chunks: Uint8Array[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(chunk: Uint8Array): null {
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) throw tooLargeError()
    this.#chunks.push(chunk)
    return null
  }

  end(): Uint8Array {
    const bytes = Buffer.concat(this.#chunks)
    assertJsonBounds(bytes.toString(), maxValues)
    return new Uint8Array(bytes)
  }
}

function tooLargeError(): EgressError {
  return new EgressError('too_large', 'The response of the MCP server is too large.')
}

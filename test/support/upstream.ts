import { createServer, type Server, type Socket } from 'node:net'
import { type TextWireFormat, vendorReply } from './replies.ts'
import { encodeChunk, encodeHead, lastChunk, RequestReader, type WireRequest } from './wire.ts'

/** A scripted response. By default status 200 and an empty body. */
export interface UpstreamResponse {
  status?: number
  headers?: Record<string, string>
  /** A whole body. */
  json?: unknown
  /** A whole body that need not be JSON. */
  text?: string
  /** A stream, frame by frame; bytes where it is not text. */
  sse?: readonly (string | Uint8Array)[]
  /** Delay before the head of the response. */
  waitMs?: number
  waitFor?: Promise<unknown>
  /** Delay between frames, or between chunks when `splitBytes` is set. */
  delayMs?: number
  /** The body in chunks of so many bytes, regardless of characters and frames. */
  splitBytes?: number
  /** Break the connection after so many bytes of the body. 0: right after the head. */
  breakAfterBytes?: number
  /** Waits before the break: a reset discards what the peer has not read yet. By default 20 ms. */
  breakWhen?: Promise<unknown>
  /** Kind of break: a reset, or a close without the end of the body. */
  breakWith?: 'reset' | 'close'
  /** Break before the head. */
  breakBeforeHead?: boolean
  /** Send the body, then nothing until the peer disconnects. */
  hang?: boolean
  /** Omit the last frame and end the body normally. */
  endWithoutDone?: boolean
}

export type ResponseSource = UpstreamResponse | ((request: ReceivedRequest) => UpstreamResponse)

/** A request as it arrived, and its outcome. */
export interface ReceivedRequest {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  json: any
  text: string
  at: number
  outcome: ResponseOutcome
  /** Resolves when the exchange has ended. */
  done: Promise<ResponseOutcome>
}

export interface ResponseOutcome {
  status: number | null
  /** Bytes of the body, without the framing. */
  bodyBytes: number
  /** The whole response was sent. */
  complete: boolean
  /** Time at which the peer closed the connection before it had everything. */
  closedByPeerAt: number | null
}

export interface Upstream {
  url: string
  requests: ReceivedRequest[]
  /** Queues responses, one per request. With a path, only for paths that end with it. */
  enqueue(...responses: ResponseSource[]): void
  enqueueFor(pathEnd: string, ...responses: ResponseSource[]): void
  /** Replaces the default response, for when none is queued. */
  setDefault(response: ResponseSource | null): void
  /** Resolves with the received requests once there are so many. */
  waitForRequests(count: number): Promise<ReceivedRequest[]>
  /** Connections that are open now. */
  countOpenConnections(): number
  /** Connections that were ever made. */
  countAcceptedConnections(): number
  stop(): Promise<void>
}

interface UpstreamState {
  requests: ReceivedRequest[]
  queue: { pathEnd: string; response: ResponseSource }[]
  defaultResponse: ResponseSource | null
  waiters: { count: number; resolve(journal: ReceivedRequest[]): void }[]
  sockets: Set<Socket>
  acceptedCount: number
}

/** An upstream on loopback whose responses are scripted to the byte, and which records its requests. */
export async function startUpstream(): Promise<Upstream> {
  const state: UpstreamState = {
    requests: [],
    queue: [],
    defaultResponse: null,
    waiters: [],
    sockets: new Set(),
    acceptedCount: 0,
  }
  const server = createServer({ noDelay: true }, (socket) => serve(socket, state))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const enqueueFor = (pathEnd: string, ...responses: ResponseSource[]) => {
    for (const response of responses) state.queue.push({ pathEnd, response })
  }
  return {
    url: `http://127.0.0.1:${port}`,
    requests: state.requests,
    enqueueFor,
    enqueue: (...responses) => enqueueFor('', ...responses),
    setDefault: (response) => {
      state.defaultResponse = response
    },
    waitForRequests: (count) =>
      new Promise((resolve) => {
        state.waiters.push({ count, resolve })
        notifyWaiters(state)
      }),
    countOpenConnections: () => state.sockets.size,
    countAcceptedConnections: () => state.acceptedCount,
    stop: () => stop(server, state),
  }
}

function stop(server: Server, state: UpstreamState): Promise<void> {
  for (const socket of state.sockets) socket.destroy()
  return new Promise((resolve) => server.close(() => resolve()))
}

function notifyWaiters(state: UpstreamState): void {
  state.waiters = state.waiters.filter(({ count, resolve }) => {
    if (state.requests.length < count) return true
    resolve(state.requests)
    return false
  })
}

/** Requests of a connection are served one after the other. */
function serve(socket: Socket, state: UpstreamState): void {
  const reader = new RequestReader()
  let last = Promise.resolve()
  state.sockets.add(socket)
  state.acceptedCount++
  socket.on('data', (data) => {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    for (const request of reader.push(bytes)) last = last.then(() => receive(socket, state, request))
  })
  // A peer that resets is an outcome, not a fault of this server; 'close' follows.
  socket.on('error', () => undefined)
  socket.on('close', () => state.sockets.delete(socket))
}

async function receive(socket: Socket, state: UpstreamState, request: WireRequest): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<ResponseOutcome>()
  const outcome: ResponseOutcome = { status: null, bodyBytes: 0, complete: false, closedByPeerAt: null }
  const [path = '', query = ''] = request.path.split('?')
  const text = request.body.toString()
  const received: ReceivedRequest = {
    method: request.method,
    path,
    query,
    headers: request.headers,
    json: parseJson(text),
    text,
    at: Date.now(),
    outcome,
    done: promise,
  }
  const response = selectResponse(received, state)
  state.requests.push(received)
  notifyWaiters(state)
  await new ResponseWriter(socket, outcome).run(response)
  resolve(outcome)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function selectResponse(received: ReceivedRequest, state: UpstreamState): UpstreamResponse {
  const at = state.queue.findIndex(({ pathEnd }) => received.path.endsWith(pathEnd))
  const [queued] = at < 0 ? [] : state.queue.splice(at, 1)
  const source = queued?.response ?? state.defaultResponse ?? buildDefaultResponse
  return typeof source === 'function' ? source(received) : source
}

const defaultWireFormats: [RegExp, TextWireFormat][] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/responses$/, 'responses'],
  [/\/messages$/, 'messages'],
  [/:(?:streamGenerateContent|generateContent)$/, 'gemini'],
]

/** A short text in the wire format of the path, streamed if requested. */
function buildDefaultResponse({ path, json }: ReceivedRequest): UpstreamResponse {
  const wireFormat = defaultWireFormats.find(([pattern]) => pattern.test(path))?.[1]
  if (!wireFormat) return { status: 404, json: { error: { message: `nothing at ${path}` } } }
  const { frames, body } = vendorReply(wireFormat, 'text')
  const streams = json?.stream === true || path.endsWith(':streamGenerateContent')
  return streams ? { sse: frames } : { json: body }
}

/** Sends one response, until it is complete or either side disconnects. */
class ResponseWriter {
  readonly #socket: Socket
  readonly #outcome: ResponseOutcome
  readonly #closed = Promise.withResolvers<void>()
  /** We closed the connection ourselves. */
  #isClosedByUs = false

  constructor(socket: Socket, outcome: ResponseOutcome) {
    this.#socket = socket
    this.#outcome = outcome
    if (socket.destroyed) this.#handleClose()
    socket.on('end', this.#handleClose)
    socket.on('close', this.#handleClose)
  }

  #handleClose = (): void => {
    if (!this.#isClosedByUs && !this.#outcome.complete) this.#outcome.closedByPeerAt ??= Date.now()
    this.#closed.resolve()
  }

  async run(response: UpstreamResponse): Promise<void> {
    await this.#respond(response)
    this.#socket.off('end', this.#handleClose)
    this.#socket.off('close', this.#handleClose)
  }

  async #respond(response: UpstreamResponse): Promise<void> {
    await this.#sleep(response.waitMs ?? 0)
    if (response.waitFor) await Promise.race([response.waitFor, this.#closed.promise])
    if (response.breakBeforeHead) return this.#break(response)
    if (response.hang && !response.sse && response.json === undefined && response.text === undefined)
      return this.#closed.promise
    const body = encodeBody(response)
    const framed = response.sse !== undefined
    await this.#writeHead(response, framed ? null : body.reduce((sum, chunk) => sum + chunk.length, 0))
    for (const [index, chunk] of truncateBody(splitBody(body, response.splitBytes), response).entries()) {
      if (index > 0) await this.#sleep(response.delayMs ?? 0)
      if (this.#isGone()) return
      await this.#write(framed ? encodeChunk(chunk) : chunk)
      this.#outcome.bodyBytes += chunk.length
    }
    if (response.breakAfterBytes !== undefined) return this.#break(response)
    if (response.hang) return this.#closed.promise
    if (framed) await this.#write(Buffer.from(lastChunk))
    this.#outcome.complete = !this.#isGone()
  }

  async #writeHead(response: UpstreamResponse, length: number | null): Promise<void> {
    const status = response.status ?? 200
    const framing =
      length === null ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }
    const type = length === null ? 'text/event-stream' : 'application/json'
    this.#outcome.status = status
    await this.#write(
      Buffer.from(encodeHead(status, { 'content-type': type, ...response.headers, ...framing })),
    )
  }

  #isGone(): boolean {
    return this.#outcome.closedByPeerAt !== null || this.#socket.destroyed
  }

  /** Returns when the kernel has the bytes, so that a slow reader causes backpressure. */
  #write(bytes: Uint8Array): Promise<void> {
    if (this.#isGone()) return Promise.resolve()
    const written = new Promise<void>((resolve) => void this.#socket.write(bytes, () => resolve()))
    return Promise.race([written, this.#closed.promise])
  }

  #sleep(ms: number): Promise<void> {
    return ms > 0 ? Promise.race([Bun.sleep(ms), this.#closed.promise]) : Promise.resolve()
  }

  async #break({ breakWith = 'reset', breakWhen }: UpstreamResponse): Promise<void> {
    if (breakWhen) await Promise.race([breakWhen, this.#closed.promise])
    else if (breakWith === 'reset') await this.#sleep(20)
    this.#isClosedByUs = true
    if (breakWith === 'close') this.#socket.destroy()
    else this.#socket.resetAndDestroy()
  }
}

function encodeBody({ json, text, sse, endWithoutDone }: UpstreamResponse): Buffer[] {
  if (sse) return (endWithoutDone ? sse.slice(0, -1) : sse).map((frame) => Buffer.from(frame))
  return [Buffer.from(text ?? (json === undefined ? '' : JSON.stringify(json)))]
}

function splitBody(body: Buffer[], size: number | undefined): Buffer[] {
  if (!size) return body.filter((chunk) => chunk.length > 0)
  const whole = Buffer.concat(body)
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
    whole.subarray(index * size, (index + 1) * size),
  )
}

/** The part before the break. */
function truncateBody(
  chunks: Buffer[],
  { breakAfterBytes = Number.POSITIVE_INFINITY }: UpstreamResponse,
): Buffer[] {
  let left = breakAfterBytes
  return chunks.flatMap((chunk) => {
    const included = chunk.subarray(0, Math.min(chunk.length, left))
    left -= included.length
    return included.length > 0 ? [included] : []
  })
}

import { createServer, type Server, type Socket } from 'node:net'
import { type TextDialect, vendorReply } from './replies.ts'
import { chunk, headOf, lastChunk, RequestReader, type WireRequest } from './wire.ts'

/** What the upstream answers with. Without anything: status 200 and an empty body. */
export interface UpstreamAnswer {
  status?: number
  headers?: Record<string, string>
  /** A whole answer. */
  json?: unknown
  /** A whole answer that need not be JSON. */
  text?: string
  /** A stream, frame by frame. */
  sse?: readonly string[]
  /** Before the head of the answer. */
  waitMs?: number
  /** Between frames, or between pieces when `splitBytes` is set. */
  delayMs?: number
  /** The body in pieces of so many bytes, wherever characters and frames end. */
  splitBytes?: number
  /** After so many bytes of the body the connection is gone. 0: right after the head. */
  breakAfterBytes?: number
  /** How it goes: a reset, or closed without the end of the body. */
  breakWith?: 'reset' | 'close'
  /** Break before the head. */
  breakBeforeHead?: boolean
  /** Send what there is, then stay silent until the peer gives up. */
  hang?: boolean
  /** Leave out the last frame and end the body as if all were well. */
  endWithoutDone?: boolean
}

export type AnswerSource = UpstreamAnswer | ((request: Received) => UpstreamAnswer)

/** A request as it arrived, and what became of it. */
export interface Received {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  json: any
  text: string
  at: number
  outcome: Outcome
  /** Resolves when nothing more happens on this request. */
  done: Promise<Outcome>
}

export interface Outcome {
  status: number | null
  /** Of the body, without the framing. */
  bodyBytes: number
  /** The whole answer was handed over. */
  complete: boolean
  /** When the peer closed the connection before it had everything. */
  closedByPeerAt: number | null
}

export interface Upstream {
  url: string
  journal: Received[]
  /** Queues answers: each serves one request. Where a path is given, only for paths that end with it. */
  script(...answers: AnswerSource[]): void
  scriptFor(pathEnd: string, ...answers: AnswerSource[]): void
  /** What is answered when nothing is queued, instead of the defaults. */
  otherwise(answer: AnswerSource | null): void
  /** Resolves with the journal once it holds so many requests. */
  received(count: number): Promise<Received[]>
  /** Connections that are open now. */
  connections(): number
  /** Connections that were ever made. */
  accepted(): number
  stop(): Promise<void>
}

interface State {
  journal: Received[]
  queue: { pathEnd: string; answer: AnswerSource }[]
  otherwise: AnswerSource | null
  waiting: { count: number; resolve(journal: Received[]): void }[]
  sockets: Set<Socket>
  accepted: number
}

/** An upstream on the loopback that does what it is told, down to the byte, and writes down what it was asked. */
export async function startUpstream(): Promise<Upstream> {
  const state: State = {
    journal: [],
    queue: [],
    otherwise: null,
    waiting: [],
    sockets: new Set(),
    accepted: 0,
  }
  const server = createServer({ noDelay: true }, (socket) => serve(socket, state))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const scriptFor = (pathEnd: string, ...answers: AnswerSource[]) => {
    for (const answer of answers) state.queue.push({ pathEnd, answer })
  }
  return {
    url: `http://127.0.0.1:${port}`,
    journal: state.journal,
    scriptFor,
    script: (...answers) => scriptFor('', ...answers),
    otherwise: (answer) => {
      state.otherwise = answer
    },
    received: (count) =>
      new Promise((resolve) => {
        state.waiting.push({ count, resolve })
        tellWaiting(state)
      }),
    connections: () => state.sockets.size,
    accepted: () => state.accepted,
    stop: () => stop(server, state),
  }
}

function stop(server: Server, state: State): Promise<void> {
  for (const socket of state.sockets) socket.destroy()
  return new Promise((resolve) => server.close(() => resolve()))
}

function tellWaiting(state: State): void {
  state.waiting = state.waiting.filter(({ count, resolve }) => {
    if (state.journal.length < count) return true
    resolve(state.journal)
    return false
  })
}

/** Requests of a connection are answered one after the other. */
function serve(socket: Socket, state: State): void {
  const reader = new RequestReader()
  let last = Promise.resolve()
  state.sockets.add(socket)
  state.accepted++
  socket.on('data', (data) => {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    for (const request of reader.push(bytes)) last = last.then(() => receive(socket, state, request))
  })
  // A peer that resets is an outcome, not a fault of this server; 'close' follows.
  socket.on('error', () => undefined)
  socket.on('close', () => state.sockets.delete(socket))
}

async function receive(socket: Socket, state: State, request: WireRequest): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const outcome: Outcome = { status: null, bodyBytes: 0, complete: false, closedByPeerAt: null }
  const [path = '', query = ''] = request.path.split('?')
  const text = request.body.toString()
  const received: Received = {
    method: request.method,
    path,
    query,
    headers: request.headers,
    json: parsed(text),
    text,
    at: Date.now(),
    outcome,
    done: promise,
  }
  const answer = answerTo(received, state)
  state.journal.push(received)
  tellWaiting(state)
  await new Exchange(socket, outcome).run(answer)
  resolve(outcome)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function answerTo(received: Received, state: State): UpstreamAnswer {
  const at = state.queue.findIndex(({ pathEnd }) => received.path.endsWith(pathEnd))
  const [queued] = at < 0 ? [] : state.queue.splice(at, 1)
  const source = queued?.answer ?? state.otherwise ?? defaultAnswer
  return typeof source === 'function' ? source(received) : source
}

const defaultDialects: [RegExp, TextDialect][] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/responses$/, 'responses'],
  [/\/messages$/, 'messages'],
  [/:(?:streamGenerateContent|generateContent)$/, 'gemini'],
]

/** Each dialect's path is answered with a short text, streamed when that was asked for. */
function defaultAnswer({ path, json }: Received): UpstreamAnswer {
  const dialect = defaultDialects.find(([pattern]) => pattern.test(path))?.[1]
  if (!dialect) return { status: 404, json: { error: { message: `nothing at ${path}` } } }
  const { frames, body } = vendorReply(dialect, 'text')
  const streams = json?.stream === true || path.endsWith(':streamGenerateContent')
  return streams ? { sse: frames } : { json: body }
}

/** One answer on its way, until it is told or either side is gone. */
class Exchange {
  readonly #socket: Socket
  readonly #outcome: Outcome
  readonly #gone = Promise.withResolvers<void>()
  /** We closed the connection ourselves. */
  #ours = false

  constructor(socket: Socket, outcome: Outcome) {
    this.#socket = socket
    this.#outcome = outcome
    if (socket.destroyed) this.#leave()
    socket.on('end', this.#leave)
    socket.on('close', this.#leave)
  }

  #leave = (): void => {
    if (!this.#ours && !this.#outcome.complete) this.#outcome.closedByPeerAt ??= Date.now()
    this.#gone.resolve()
  }

  async run(answer: UpstreamAnswer): Promise<void> {
    await this.#answer(answer)
    this.#socket.off('end', this.#leave)
    this.#socket.off('close', this.#leave)
  }

  async #answer(answer: UpstreamAnswer): Promise<void> {
    await this.#pause(answer.waitMs ?? 0)
    if (answer.breakBeforeHead) return this.#break(answer)
    if (answer.hang && !answer.sse && answer.json === undefined && answer.text === undefined)
      return this.#gone.promise
    const body = bodyOf(answer)
    const framed = answer.sse !== undefined
    await this.#head(answer, framed ? null : body.reduce((sum, piece) => sum + piece.length, 0))
    for (const [index, piece] of limited(pieced(body, answer.splitBytes), answer).entries()) {
      if (index > 0) await this.#pause(answer.delayMs ?? 0)
      if (this.#isGone()) return
      await this.#write(framed ? chunk(piece) : piece)
      this.#outcome.bodyBytes += piece.length
    }
    if (answer.breakAfterBytes !== undefined) return this.#break(answer)
    if (answer.hang) return this.#gone.promise
    if (framed) await this.#write(Buffer.from(lastChunk))
    this.#outcome.complete = !this.#isGone()
  }

  async #head(answer: UpstreamAnswer, length: number | null): Promise<void> {
    const status = answer.status ?? 200
    const framing =
      length === null ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }
    const type = length === null ? 'text/event-stream' : 'application/json'
    this.#outcome.status = status
    await this.#write(Buffer.from(headOf(status, { 'content-type': type, ...answer.headers, ...framing })))
  }

  #isGone(): boolean {
    return this.#outcome.closedByPeerAt !== null || this.#socket.destroyed
  }

  /** Returns when the bytes are with the kernel, so that a slow reader is felt. */
  #write(bytes: Uint8Array): Promise<void> {
    if (this.#isGone()) return Promise.resolve()
    const written = new Promise<void>((resolve) => void this.#socket.write(bytes, () => resolve()))
    return Promise.race([written, this.#gone.promise])
  }

  #pause(ms: number): Promise<void> {
    return ms > 0 ? Promise.race([Bun.sleep(ms), this.#gone.promise]) : Promise.resolve()
  }

  async #break({ breakWith = 'reset' }: UpstreamAnswer): Promise<void> {
    this.#ours = true
    if (breakWith === 'close') this.#socket.destroy()
    else {
      // A reset discards what the peer has not read yet: it gets a moment to read it.
      await this.#pause(20)
      this.#socket.resetAndDestroy()
    }
  }
}

function bodyOf({ json, text, sse, endWithoutDone }: UpstreamAnswer): Buffer[] {
  if (sse) return (endWithoutDone ? sse.slice(0, -1) : sse).map((frame) => Buffer.from(frame))
  return [Buffer.from(text ?? (json === undefined ? '' : JSON.stringify(json)))]
}

function pieced(body: Buffer[], size: number | undefined): Buffer[] {
  if (!size) return body.filter((piece) => piece.length > 0)
  const whole = Buffer.concat(body)
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
    whole.subarray(index * size, (index + 1) * size),
  )
}

/** Only what comes before the break. */
function limited(pieces: Buffer[], { breakAfterBytes = Number.POSITIVE_INFINITY }: UpstreamAnswer): Buffer[] {
  let left = breakAfterBytes
  return pieces.flatMap((piece) => {
    const kept = piece.subarray(0, Math.min(piece.length, left))
    left -= kept.length
    return kept.length > 0 ? [kept] : []
  })
}

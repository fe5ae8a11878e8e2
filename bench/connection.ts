import type { Socket } from 'bun'
import { HttpResponseReader } from './http-response.ts'

export interface Timing {
  /** Milliseconds from the request to the first event, or to the end if there is none. */
  first: number
  total: number
}

interface PendingRequest {
  startedAt: number
  first: number
  reply: HttpResponseReader
  /** Resolve at the first event, for a stream that does not end. */
  untilFirst: boolean
  resolve: (timing: Timing) => void
  reject: (error: Error) => void
}

/** One keep-alive connection with one request at a time: cheap, so that the client hardly affects the measurement. */
export class Connection {
  #pending: PendingRequest | null = null
  #unsent: Buffer | null = null
  #socket: Socket | undefined
  isOpen = true

  static async connect(port: number): Promise<Connection> {
    const connection = new Connection()
    connection.#socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        data: (_, bytes) => connection.#receive(bytes),
        drain: () => connection.#flush(),
        close: () => connection.#handleClose(),
        error: () => connection.#handleClose(),
      },
    })
    return connection
  }

  /** Sends a request and resolves when its reply has ended. */
  send(request: Buffer): Promise<Timing> {
    return this.#send(request, false)
  }

  /** Resolves with the first event and leaves the stream open. */
  openStream(request: Buffer): Promise<Timing> {
    return this.#send(request, true)
  }

  close(): void {
    this.#socket?.end()
    this.#handleClose()
  }

  #send(request: Buffer, untilFirst: boolean): Promise<Timing> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) return reject(new Error('the connection was closed between two requests'))
      const startedAt = performance.now()
      this.#pending = { startedAt, first: 0, reply: new HttpResponseReader(), untilFirst, resolve, reject }
      this.#unsent = request
      this.#flush()
    })
  }

  #flush(): void {
    if (!this.#unsent || !this.#socket) return
    const written = Math.max(0, this.#socket.write(this.#unsent))
    this.#unsent = written < this.#unsent.length ? this.#unsent.subarray(written) : null
  }

  #receive(bytes: Buffer): void {
    const pending = this.#pending
    if (!pending) return
    const { reply } = pending
    reply.feed(bytes)
    if (pending.first === 0 && reply.hasEvent) pending.first = performance.now() - pending.startedAt
    if (!reply.done && !(pending.untilFirst && reply.hasEvent)) return
    const total = performance.now() - pending.startedAt
    this.#pending = null
    if (reply.status === 200) pending.resolve({ first: pending.first || total, total })
    else pending.reject(new Error(`status ${reply.status}: ${reply.bodyStart}`))
  }

  #handleClose(): void {
    this.isOpen = false
    this.#pending?.reject(new Error('the connection was closed during a response'))
    this.#pending = null
  }
}

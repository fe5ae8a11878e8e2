import type { Socket } from 'bun'
import { HttpReply } from './http-reply.ts'

export interface Timing {
  /** Milliseconds from the request to the first event; to the end, when there is none. */
  first: number
  total: number
}

interface Waiting {
  startedAt: number
  first: number
  reply: HttpReply
  /** Resolve at the first event: the stream is not going to end. */
  untilFirst: boolean
  resolve: (timing: Timing) => void
  reject: (error: Error) => void
}

/** One keep-alive connection with one request at a time: a client so light that it hardly disturbs what it measures. */
export class Connection {
  #waiting: Waiting | null = null
  #unsent: Buffer | null = null
  #socket: Socket | undefined
  isOpen = true

  static async to(port: number): Promise<Connection> {
    const connection = new Connection()
    connection.#socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        data: (_, bytes) => connection.#receive(bytes),
        drain: () => connection.#flush(),
        close: () => connection.#closed(),
        error: () => connection.#closed(),
      },
    })
    return connection
  }

  /** Sends a request and resolves when its reply has ended. */
  ask(request: Buffer): Promise<Timing> {
    return this.#send(request, false)
  }

  /** Resolves with the first event and leaves the stream open. */
  open(request: Buffer): Promise<Timing> {
    return this.#send(request, true)
  }

  close(): void {
    this.#socket?.end()
    this.#closed()
  }

  #send(request: Buffer, untilFirst: boolean): Promise<Timing> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) return reject(new Error('the connection was closed between two requests'))
      const startedAt = performance.now()
      this.#waiting = { startedAt, first: 0, reply: new HttpReply(), untilFirst, resolve, reject }
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
    const waiting = this.#waiting
    if (!waiting) return
    const { reply } = waiting
    reply.feed(bytes)
    if (waiting.first === 0 && reply.hasEvent) waiting.first = performance.now() - waiting.startedAt
    if (!reply.done && !(waiting.untilFirst && reply.hasEvent)) return
    const total = performance.now() - waiting.startedAt
    this.#waiting = null
    if (reply.status === 200) waiting.resolve({ first: waiting.first || total, total })
    else waiting.reject(new Error(`answered ${reply.status}: ${reply.start}`))
  }

  #closed(): void {
    this.isOpen = false
    this.#waiting?.reject(new Error('the connection was closed within a reply'))
    this.#waiting = null
  }
}

/** Replies may arrive in another order than the requests. */
interface WorkerReply {
  id: number
  result?: unknown
  error?: { message: string; code: string }
}

/** Receives what a worker sends before its reply: a note, and a text that is not copied. */
export type ReceiveText = (note: unknown, text: string) => void

interface PendingCall extends PromiseWithResolvers<unknown> {
  receive: ReceiveText | undefined
}

/** Ends a thread without calls, so that its memory is free; the next call starts another. */
export interface IdleEnd {
  afterMs: number
  /** Sent to the worker before it is ended. */
  message?: unknown
}

/**
 * A worker thread that starts with the first call, does not keep the process alive, and is replaced when it fails.
 * Requests are sent as text, which is faster than a structured clone of an object; long texts are sent beside them,
 * because they need not be copied.
 */
export class WorkerThread {
  readonly #file: URL
  readonly #initMessage: unknown
  readonly #idleEnd: IdleEnd | undefined
  readonly #pending = new Map<number, PendingCall>()
  #lastId = 0
  #worker: Worker | null = null
  #idleTimer: Timer | undefined

  /** A new worker receives `initMessage` first. */
  constructor(file: URL, initMessage: unknown, idleEnd?: IdleEnd) {
    this.#file = file
    this.#initMessage = initMessage
    this.#idleEnd = idleEnd
  }

  get isRunning(): boolean {
    return this.#worker !== null
  }

  call(request: unknown, texts: readonly string[] = [], receive?: ReceiveText): Promise<unknown> {
    clearTimeout(this.#idleTimer)
    this.#worker ??= this.#start()
    return this.#post(this.#worker, request, texts, receive)
  }

  terminate(): void {
    clearTimeout(this.#idleTimer)
    this.#worker?.terminate()
    this.#worker = null
  }

  /** Calls that arrive meanwhile go to another worker. */
  async #endIdle(message: unknown): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    if (!worker) return
    if (message !== undefined) await this.#post(worker, message, []).catch(() => undefined)
    worker.terminate()
  }

  #start(): Worker {
    const worker = new Worker(this.#file)
    worker.onmessage = ({ data }: MessageEvent<WorkerReply | SentText>) =>
      Array.isArray(data) ? this.#receiveText(data) : this.#settleReply(data)
    worker.onerror = ({ message }) => this.#failPending(message)
    worker.unref()
    this.#post(worker, this.#initMessage, []).catch((error: unknown) => this.#failPending(String(error)))
    return worker
  }

  #post(worker: Worker, request: unknown, texts: readonly string[], receive?: ReceiveText): Promise<unknown> {
    const pending = { ...Promise.withResolvers<unknown>(), receive }
    const id = ++this.#lastId
    this.#pending.set(id, pending)
    worker.postMessage([JSON.stringify({ id, request }), ...texts])
    return pending.promise
  }

  #receiveText([head, text]: SentText): void {
    const { id, note } = JSON.parse(head) as { id: number; note: unknown }
    this.#pending.get(id)?.receive?.(note, text)
  }

  #settleReply({ id, result, error }: WorkerReply): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (error) pending?.reject(Object.assign(new Error(error.message), { code: error.code }))
    else pending?.resolve(result)
    if (this.#pending.size === 0) this.#watchIdle()
  }

  #watchIdle(): void {
    if (!this.#idleEnd || !this.#worker) return
    const { afterMs, message } = this.#idleEnd
    clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => void this.#endIdle(message), afterMs)
    this.#idleTimer.unref()
  }

  /** Rejects all pending calls; the next call starts a new worker. */
  #failPending(message: string): void {
    this.terminate()
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const waiting of pending) waiting.reject(new Error(message))
  }
}

/** Lists of texts are not copied between threads. */
type SentText = [head: string, text: string]

/** `send`: what is sent before the reply. */
type Handler = (request: unknown, texts: readonly string[], send: ReceiveText) => unknown

/** The worker's side. */
export function handleRequests(handle: Handler): void {
  const worker = globalThis as unknown as Worker
  worker.onmessage = ({ data }: MessageEvent<[string, ...string[]]>) => {
    void buildReply(handle, data, worker).then((message) => worker.postMessage(message))
  }
}

async function buildReply(
  handle: Handler,
  [text, ...texts]: [string, ...string[]],
  worker: Worker,
): Promise<WorkerReply> {
  const { id, request } = JSON.parse(text) as { id: number; request: unknown }
  const send: ReceiveText = (note, sent) => worker.postMessage([JSON.stringify({ id, note }), sent])
  try {
    return { id, result: await handle(request, texts, send) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return { id, error: { message: String(error), code } }
  }
}

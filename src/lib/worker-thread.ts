/** Replies may arrive in another order than the requests. */
interface WorkerReply {
  id: number
  result?: unknown
  error?: { message: string; code: string }
}

/**
 * A worker thread that starts with the first call, does not keep the process alive, and is replaced when it fails.
 * Requests are sent as text, which is faster than a structured clone of an object; long texts are sent beside them,
 * because they need not be copied.
 */
export class WorkerThread {
  readonly #file: URL
  readonly #initMessage: unknown
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  #lastId = 0
  #worker: Worker | null = null

  /** A new worker receives `initMessage` first. */
  constructor(file: URL, initMessage: unknown) {
    this.#file = file
    this.#initMessage = initMessage
  }

  get isRunning(): boolean {
    return this.#worker !== null
  }

  call(request: unknown, texts: readonly string[] = []): Promise<unknown> {
    this.#worker ??= this.#start()
    return this.#post(this.#worker, request, texts)
  }

  terminate(): void {
    this.#worker?.terminate()
    this.#worker = null
  }

  #start(): Worker {
    const worker = new Worker(this.#file)
    worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => this.#settleReply(data)
    worker.onerror = ({ message }) => this.#failPending(message)
    worker.unref()
    this.#post(worker, this.#initMessage, []).catch((error: unknown) => this.#failPending(String(error)))
    return worker
  }

  #post(worker: Worker, request: unknown, texts: readonly string[]): Promise<unknown> {
    const pending = Promise.withResolvers<unknown>()
    const id = ++this.#lastId
    this.#pending.set(id, pending)
    worker.postMessage([JSON.stringify({ id, request }), ...texts])
    return pending.promise
  }

  #settleReply({ id, result, error }: WorkerReply): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (error) pending?.reject(Object.assign(new Error(error.message), { code: error.code }))
    else pending?.resolve(result)
  }

  /** Rejects all pending calls; the next call starts a new worker. */
  #failPending(message: string): void {
    this.terminate()
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const waiting of pending) waiting.reject(new Error(message))
  }
}

type Handler = (request: unknown, texts: readonly string[]) => unknown

/** The worker's side. */
export function handleRequests(handle: Handler): void {
  const worker = globalThis as unknown as Worker
  worker.onmessage = ({ data }: MessageEvent<[string, ...string[]]>) => {
    void buildReply(handle, data).then((message) => worker.postMessage(message))
  }
}

async function buildReply(handle: Handler, [text, ...texts]: [string, ...string[]]): Promise<WorkerReply> {
  const { id, request } = JSON.parse(text) as { id: number; request: unknown }
  try {
    return { id, result: await handle(request, texts) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return { id, error: { message: String(error), code } }
  }
}

/** What comes back from a thread: questions may be answered in another order than they were asked in. */
interface WorkerReply {
  id: number
  result?: unknown
  error?: { message: string; code: string }
}

/**
 * A worker on a thread of its own. It is started when it is first asked, keeps no process
 * alive, and is replaced when it dies. Questions go as text: that is handed over faster than a copy of objects.
 */
export class WorkerThread {
  readonly #file: URL
  readonly #initMessage: unknown
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  #lastId = 0
  #worker: Worker | null = null

  /** `opening` is the first thing a new worker is told. */
  constructor(file: URL, initMessage: unknown) {
    this.#file = file
    this.#initMessage = initMessage
  }

  get isRunning(): boolean {
    return this.#worker !== null
  }

  call(request: unknown): Promise<unknown> {
    this.#worker ??= this.#start()
    return this.#post(this.#worker, request)
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
    this.#post(worker, this.#initMessage).catch((error: unknown) => this.#failPending(String(error)))
    return worker
  }

  #post(worker: Worker, request: unknown): Promise<unknown> {
    const pending = Promise.withResolvers<unknown>()
    const id = ++this.#lastId
    this.#pending.set(id, pending)
    worker.postMessage(JSON.stringify({ id, request }))
    return pending.promise
  }

  #settleReply({ id, result, error }: WorkerReply): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (error) pending?.reject(Object.assign(new Error(error.message), { code: error.code }))
    else pending?.resolve(result)
  }

  /** Nothing that was asked of it will be answered; the next question goes to a new one. */
  #failPending(message: string): void {
    this.terminate()
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const waiting of pending) waiting.reject(new Error(message))
  }
}

/** The other side, in the file of the worker. */
export function handleRequests(handle: (request: unknown) => unknown): void {
  const worker = globalThis as unknown as Worker
  worker.onmessage = ({ data }: MessageEvent<string>) => {
    void buildReply(handle, data).then((message) => worker.postMessage(message))
  }
}

async function buildReply(handle: (request: unknown) => unknown, text: string): Promise<WorkerReply> {
  const { id, request } = JSON.parse(text) as { id: number; request: unknown }
  try {
    return { id, result: await handle(request) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return { id, error: { message: String(error), code } }
  }
}

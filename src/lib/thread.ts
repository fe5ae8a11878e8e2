/** What comes back from a thread: questions may be answered in another order than they were asked in. */
interface Told {
  id: number
  answer?: unknown
  error?: { message: string; code: string }
}

/**
 * A worker on a thread of its own. It is started when it is first asked, keeps no process
 * alive, and is replaced when it dies. Questions go as text: that is handed over faster than a copy of objects.
 */
export class Thread {
  readonly #file: URL
  readonly #opening: unknown
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  #lastId = 0
  #worker: Worker | null = null

  /** `opening` is the first thing a new worker is told. */
  constructor(file: URL, opening: unknown) {
    this.#file = file
    this.#opening = opening
  }

  get isRunning(): boolean {
    return this.#worker !== null
  }

  ask(question: unknown): Promise<unknown> {
    this.#worker ??= this.#start()
    return this.#post(this.#worker, question)
  }

  end(): void {
    this.#worker?.terminate()
    this.#worker = null
  }

  #start(): Worker {
    const worker = new Worker(this.#file)
    worker.onmessage = ({ data }: MessageEvent<Told>) => this.#told(data)
    worker.onerror = ({ message }) => this.#died(message)
    worker.unref()
    this.#post(worker, this.#opening).catch((error: unknown) => this.#died(String(error)))
    return worker
  }

  #post(worker: Worker, question: unknown): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>()
    const id = ++this.#lastId
    this.#pending.set(id, answer)
    worker.postMessage(JSON.stringify({ id, question }))
    return answer.promise
  }

  #told({ id, answer, error }: Told): void {
    const waiting = this.#pending.get(id)
    this.#pending.delete(id)
    if (error) waiting?.reject(Object.assign(new Error(error.message), { code: error.code }))
    else waiting?.resolve(answer)
  }

  /** Nothing that was asked of it will be answered; the next question goes to a new one. */
  #died(message: string): void {
    this.end()
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const waiting of pending) waiting.reject(new Error(message))
  }
}

/** The other side, in the file of the worker. */
export function answerEach(answer: (question: unknown) => unknown): void {
  const worker = globalThis as unknown as Worker
  worker.onmessage = ({ data }: MessageEvent<string>) => {
    void told(answer, data).then((message) => worker.postMessage(message))
  }
}

async function told(answer: (question: unknown) => unknown, text: string): Promise<Told> {
  const { id, question } = JSON.parse(text) as { id: number; question: unknown }
  try {
    return { id, answer: await answer(question) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return { id, error: { message: String(error), code } }
  }
}

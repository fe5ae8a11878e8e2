/** What comes back from a thread. */
interface Told {
  answer?: unknown
  error?: { message: string; code: string }
}

/**
 * A worker that is asked one thing after the other. It is started when it is first asked, keeps no process
 * alive, and is replaced when it dies. Questions go as text: that is handed over faster than a copy of objects.
 */
export class Thread {
  readonly #file: URL
  readonly #opening: unknown
  readonly #asked: PromiseWithResolvers<unknown>[] = []
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
    this.#asked.push(answer)
    worker.postMessage(JSON.stringify(question))
    return answer.promise
  }

  #told({ answer, error }: Told): void {
    const waiting = this.#asked.shift()
    if (error) waiting?.reject(Object.assign(new Error(error.message), { code: error.code }))
    else waiting?.resolve(answer)
  }

  /** Nothing that was asked of it will be answered; the next question goes to a new one. */
  #died(message: string): void {
    this.end()
    for (const waiting of this.#asked.splice(0)) waiting.reject(new Error(message))
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
  try {
    return { answer: await answer(JSON.parse(text)) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return { error: { message: String(error), code } }
  }
}

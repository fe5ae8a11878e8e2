export class QueueFullError extends Error {
  constructor() {
    super('queue is full')
  }
}

/** Runs a few pieces of work at a time; others wait, up to a number of them. */
export class BoundedQueue {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  readonly #pending = new Set<Promise<unknown>>()
  #running = 0

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting.length >= this.#maxWaiting) return Promise.reject(new QueueFullError())
    const done = this.#runInTurn(work).finally(() => this.#pending.delete(done))
    this.#pending.add(done)
    return done
  }

  /** Resolves when nothing waits or runs. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled([...this.#pending])
  }

  async #runInTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#maxRunning) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      return await work()
    } finally {
      // The slot passes to the next one.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}

/** Bounds how many calls run at the same time; others wait for a place. */
export class Slots {
  #running = 0
  readonly #waiting: (() => void)[] = []

  get isIdle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0
  }

  /** Waits for a place; throws the reason of the signal when it ends first. */
  async run<T>(max: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    while (this.#running >= max) await this.#wait(signal)
    signal.throwIfAborted()
    this.#running++
    try {
      return await work()
    } finally {
      this.#running--
      this.#waiting.shift()?.()
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const wake = () => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    const end = () => {
      this.#waiting.splice(this.#waiting.indexOf(wake), 1)
      reject(signal.reason)
    }
    if (signal.aborted) return Promise.reject(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    this.#waiting.push(wake)
    return promise
  }
}

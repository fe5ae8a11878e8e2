/** Lends installations to tests that run at the same time, and opens another one while there are fewer than `size`. */
export class Pool<T> {
  readonly #open: () => Promise<T>
  readonly #size: number
  readonly #idle: T[] = []
  readonly #waiting: ((item: T | Promise<T>) => void)[] = []
  #opened = 0

  constructor(size: number, open: () => Promise<T>) {
    this.#size = size
    this.#open = open
  }

  /** A test that fails does not return its installation, as nothing is known about its state. */
  async use(work: (item: T) => Promise<void>): Promise<void> {
    const item = await this.#take()
    try {
      await work(item)
      this.#return(item)
    } catch (error) {
      this.#opened--
      this.#waiting.shift()?.(this.#take())
      throw error
    }
  }

  async #take(): Promise<T> {
    const idle = this.#idle.pop()
    if (idle) return idle
    if (this.#opened === this.#size) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#opened++
    return this.#open()
  }

  #return(item: T): void {
    const next = this.#waiting.shift()
    if (next) next(item)
    else this.#idle.push(item)
  }

  /** Items that were returned. */
  get idle(): readonly T[] {
    return this.#idle
  }
}

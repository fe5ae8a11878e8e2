/** A number of things that may go on at once. */
export class ConcurrencyLimiter {
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Does the work if there is room for it; otherwise nothing. */
  async tryRun(work: () => Promise<void>): Promise<void> {
    if (this.#free === 0) return
    this.#free--
    try {
      await work()
    } finally {
      this.#free++
    }
  }
}

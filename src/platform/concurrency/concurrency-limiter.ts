/** Bounds how many operations run at the same time. */
export class ConcurrencyLimiter {
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Runs the work, or skips it at the limit. */
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

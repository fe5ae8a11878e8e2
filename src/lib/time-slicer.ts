/** How much work is done in one turn of the event loop before other requests get theirs. */
const sliceMs = 4

/** What awaiting a piece of work and handing over its result take beside it. */
const overheadMs = 0.01

/**
 * Divides long work into turns of the event loop. Bytes that have already arrived are read without waiting, so
 * that a burst of small events would otherwise be one uninterrupted piece of work.
 */
export class TimeSlicer {
  #workedMs = 0
  #pendingYield: Promise<void> | null = null

  /** Counts work against the current turn, with what it takes to pass its result on. */
  recordWork(startedAt: number): void {
    this.#workedMs += performance.now() - startedAt + overheadMs
  }

  /** What `work` gives, counted. */
  runCounted<T>(work: () => T): T {
    const startedAt = performance.now()
    const result = work()
    this.recordWork(startedAt)
    return result
  }

  /** The pieces one by one, each counted. */
  async *iterate<T>(items: Iterator<T>): AsyncGenerator<T> {
    for (;;) {
      for (let pending = this.pendingYield; pending; pending = this.pendingYield) await pending
      const { done, value } = this.runCounted(() => items.next())
      if (done) return
      yield value
    }
  }

  /**
   * The next turn, to be awaited before more work; null while the current one has time left. To be asked again
   * after it was awaited: others who waited for it may have used it up.
   */
  get pendingYield(): Promise<void> | null {
    if (this.#workedMs < sliceMs) return null
    this.#pendingYield ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#workedMs = 0
        this.#pendingYield = null
        resolve()
      })
    })
    return this.#pendingYield
  }
}

/** Lets other requests have the event loop. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

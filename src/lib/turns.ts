/** How much work is done in one turn of the event loop before other requests get theirs. */
const turnMs = 4

/** What awaiting a piece of work and handing over its result take beside it. */
const aroundMs = 0.01

/**
 * Divides long work into turns of the event loop. Bytes that have already arrived are read without waiting, so
 * that a burst of small events would otherwise be one uninterrupted piece of work.
 */
export class Turns {
  #worked = 0
  #next: Promise<void> | null = null

  /** Counts work against the current turn, with what it takes to pass its result on. */
  count(startedAt: number): void {
    this.#worked += performance.now() - startedAt + aroundMs
  }

  /** What `work` gives, counted. */
  run<T>(work: () => T): T {
    const startedAt = performance.now()
    const result = work()
    this.count(startedAt)
    return result
  }

  /** The pieces one by one, each counted. */
  async *each<T>(pieces: Iterator<T>): AsyncGenerator<T> {
    for (;;) {
      for (let turn = this.next; turn; turn = this.next) await turn
      const { done, value } = this.run(() => pieces.next())
      if (done) return
      yield value
    }
  }

  /**
   * The next turn, to be awaited before more work; null while the current one has time left. To be asked again
   * after it was awaited: others who waited for it may have used it up.
   */
  get next(): Promise<void> | null {
    if (this.#worked < turnMs) return null
    this.#next ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#worked = 0
        this.#next = null
        resolve()
      })
    })
    return this.#next
  }
}

/** Lets other requests have the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Time that passes only when everything that can happen now has happened. */
export class VirtualClock {
  #now: number
  #count = 0
  /** Sleepers, the soonest last. */
  readonly #waiting: { at: number; sequence: number; resume: () => void }[] = []

  constructor(now: number) {
    this.#now = now
  }

  now = (): number => this.#now

  sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#insert({ at: this.#now + Math.max(0, ms), sequence: this.#count++, resume: resolve })
    return promise
  }

  #insert(entry: { at: number; sequence: number; resume: () => void }): void {
    let low = 0
    let high = this.#waiting.length
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.#waiting[middle]
      if (other && (other.at > entry.at || (other.at === entry.at && other.sequence > entry.sequence))) {
        low = middle + 1
      } else high = middle
    }
    this.#waiting.splice(low, 0, entry)
  }

  /** Runs until the work is done; anything that waits for another clock would wait forever. */
  async run<T>(work: Promise<T>): Promise<T> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    work.then(over, over)
    for (await nextImmediate(); !isOver; await nextImmediate()) {
      const next = this.#waiting.pop()
      if (!next) throw new Error('nothing is left to wait for')
      this.#now = next.at
      next.resume()
    }
    return work
  }
}

/** Resolves after everything that was promised by now. */
function nextImmediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

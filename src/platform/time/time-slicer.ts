/** Work per turn of the event loop before other requests get theirs. */
const sliceMs = 4

/** Time to await an item and pass its result on, in addition to the work. */
const overheadMs = 0.01

/**
 * Splits long work into turns of the event loop. Reading bytes that have already arrived does not yield, so a burst
 * of small events would otherwise block the loop.
 */
export class TimeSlicer {
  readonly #now: () => number
  #workedMs = 0
  #pendingYield: Promise<void> | null = null

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Counts work against the current turn. */
  recordWork(startedAt: number): void {
    this.#workedMs += this.#now() - startedAt + overheadMs
  }

  /** Runs `work` and counts its time. */
  runCounted<T>(work: () => T): T {
    const startedAt = this.#now()
    const result = work()
    this.recordWork(startedAt)
    return result
  }

  /** Yields to the event loop between items as needed. */
  async *iterate<T>(items: Iterator<T>): AsyncGenerator<T> {
    for (;;) {
      for (let pending = this.pendingYield; pending; pending = this.pendingYield) await pending
      const { done, value } = this.runCounted(() => items.next())
      if (done) return
      yield value
    }
  }

  /**
   * The next turn, to be awaited before more work; null while the current turn has time left. Check again after
   * awaiting: other waiters may have used up the turn.
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

/** Runs a generator to its end, yielding to the event loop between its steps as needed; resolves to what it returns. */
export async function runInSlices<T>(steps: Iterator<unknown, T>): Promise<T> {
  const slicer = new TimeSlicer()
  for (;;) {
    for (let pending = slicer.pendingYield; pending; pending = slicer.pendingYield) await pending
    const { done, value } = slicer.runCounted(() => steps.next())
    if (done) return value
  }
}

/** The answer of `Watch.wait` when what was waited for takes longer. */
export const quiet = Symbol('quiet')

/** One clock for all who wait: a timer for each event of each stream would cost more than the event. */
export class Pulse {
  readonly #watches = new Set<Watch>()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(tickMs = 250) {
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
  }

  /** For one who waits again and again; to be closed when it is over. */
  watch(): Watch {
    const watch = new Watch((done) => this.#watches.delete(done))
    this.#watches.add(watch)
    return watch
  }

  /** What `work` gives, or `quiet` once `ms` have passed. */
  async wait<T>(work: Promise<T>, ms: number): Promise<T | typeof quiet> {
    const watch = this.watch()
    try {
      return await watch.wait(work, ms)
    } finally {
      watch.close()
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const now = performance.now()
    for (const watch of this.#watches) watch.tick(now)
  }
}

/** Waits for one thing at a time. */
export class Watch {
  readonly #forget: (watch: Watch) => void
  #wakeAt = Number.POSITIVE_INFINITY
  #wake: (() => void) | null = null

  constructor(forget: (watch: Watch) => void) {
    this.#forget = forget
  }

  /** What `work` gives, or `quiet` once `ms` have passed; the work goes on and can be waited for again. */
  wait<T>(work: Promise<T>, ms: number): Promise<T | typeof quiet> {
    return new Promise((resolve, reject) => {
      this.#wakeAt = performance.now() + ms
      this.#wake = () => resolve(quiet)
      work.then(resolve, reject)
    })
  }

  tick(now: number): void {
    if (this.#wakeAt > now) return
    this.#wakeAt = Number.POSITIVE_INFINITY
    this.#wake?.()
  }

  close(): void {
    this.#forget(this)
    this.#wake = null
  }
}

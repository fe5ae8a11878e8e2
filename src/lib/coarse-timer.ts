/** The answer of `Watch.wait` when what was waited for takes longer. */
export const timedOut = Symbol('quiet')

/** One clock for all who wait: a timer for each event of each stream would cost more than the event. */
export class CoarseTimer {
  readonly #waiters = new Set<Waiter>()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(tickMs = 250) {
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
  }

  /** For one who waits again and again; to be closed when it is over. */
  createWaiter(): Waiter {
    const waiter = new Waiter((done) => this.#waiters.delete(done))
    this.#waiters.add(waiter)
    return waiter
  }

  /** What `work` gives, or `quiet` once `ms` have passed. */
  async wait<T>(work: Promise<T>, ms: number): Promise<T | typeof timedOut> {
    const waiter = this.createWaiter()
    try {
      return await waiter.wait(work, ms)
    } finally {
      waiter.close()
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const now = performance.now()
    for (const waiter of this.#waiters) waiter.tick(now)
  }
}

/** Waits for one thing at a time. */
export class Waiter {
  readonly #onClose: (watch: Waiter) => void
  #wakeAt = Number.POSITIVE_INFINITY
  #wake: (() => void) | null = null

  constructor(onClose: (watch: Waiter) => void) {
    this.#onClose = onClose
  }

  /** What `work` gives, or `quiet` once `ms` have passed; the work goes on and can be waited for again. */
  wait<T>(work: Promise<T>, ms: number): Promise<T | typeof timedOut> {
    return new Promise((resolve, reject) => {
      this.#wakeAt = performance.now() + ms
      this.#wake = () => resolve(timedOut)
      work.then(resolve, reject)
    })
  }

  tick(now: number): void {
    if (this.#wakeAt > now) return
    this.#wakeAt = Number.POSITIVE_INFINITY
    this.#wake?.()
  }

  close(): void {
    this.#onClose(this)
    this.#wake = null
  }
}

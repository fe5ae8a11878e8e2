/** The result of `Waiter.wait` after a timeout. */
export const timedOut = Symbol('timed out')

/** One interval for all waiters: a timer for each event of each stream would cost more than the event. */
export class CoarseTimer {
  readonly #waiters = new Set<Waiter>()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(tickMs = 250) {
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
  }

  /** For repeated waits. The caller must close it. */
  createWaiter(): Waiter {
    const waiter = new Waiter((done) => this.#waiters.delete(done))
    this.#waiters.add(waiter)
    return waiter
  }

  /** The result of `work`, or `timedOut` after `ms`. */
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
  readonly #onClose: (waiter: Waiter) => void
  #wakeAt = Number.POSITIVE_INFINITY
  #wake: (() => void) | null = null

  constructor(onClose: (waiter: Waiter) => void) {
    this.#onClose = onClose
  }

  /** The result of `work`, or `timedOut` after `ms`. The work continues and can be awaited again. */
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

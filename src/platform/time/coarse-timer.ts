/** The result of `Waiter.wait` after a timeout. */
export const timedOut = Symbol('timed out')

interface Ticking {
  tick(now: number): void
}

/**
 * One interval for all timeouts: a timer for each event of each stream would cost more than the event. It ends with the
 * first tick without a timeout, so that an idle process is not woken.
 */
export class CoarseTimer {
  readonly #ticking = new Set<Ticking>()
  readonly #tickMs: number
  #timer: ReturnType<typeof setInterval> | null = null

  constructor(tickMs = 250) {
    this.#tickMs = tickMs
  }

  get isRunning(): boolean {
    return this.#timer !== null
  }

  /** Milliseconds, for differences only. */
  now(): number {
    return performance.now()
  }

  /** Creates a waiter for repeated waits. The caller must close it. */
  createWaiter(): Waiter {
    return this.#add(new Waiter(this, (done) => this.#ticking.delete(done)))
  }

  /** Calls `run` each time that it was set and its time has passed. The caller must close it. */
  createTimeout(run: () => void): Timeout {
    return this.#add(new Timeout(this, run, (done) => this.#ticking.delete(done)))
  }

  #add<T extends Ticking>(ticking: T): T {
    this.#ticking.add(ticking)
    this.#timer ??= setInterval(() => this.tick(), this.#tickMs).unref()
    return ticking
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
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  protected tick(): void {
    if (this.#ticking.size === 0) this.stop()
    const now = this.now()
    for (const ticking of this.#ticking) ticking.tick(now)
  }
}

/** Waits for one thing at a time. */
export class Waiter {
  readonly #timer: CoarseTimer
  readonly #onClose: (waiter: Waiter) => void
  #wakeAt = Number.POSITIVE_INFINITY
  #wake: ((result: typeof timedOut) => void) | null = null

  constructor(timer: CoarseTimer, onClose: (waiter: Waiter) => void) {
    this.#timer = timer
    this.#onClose = onClose
  }

  /** The result of `work`, or `timedOut` after `ms`. The work continues and can be awaited again. */
  wait<T>(work: Promise<T>, ms: number): Promise<T | typeof timedOut> {
    return new Promise((resolve, reject) => {
      this.#wakeAt = this.#timer.now() + ms
      this.#wake = resolve
      work.then((result) => {
        // It would hold the result in memory until the next wait.
        if (this.#wake === resolve) this.#wake = null
        resolve(result)
      }, reject)
    })
  }

  tick(now: number): void {
    if (this.#wakeAt > now) return
    this.#wakeAt = Number.POSITIVE_INFINITY
    this.#wake?.(timedOut)
  }

  close(): void {
    this.#onClose(this)
    this.#wake = null
  }
}

export class Timeout {
  readonly #timer: CoarseTimer
  readonly #run: () => void
  readonly #onClose: (timeout: Timeout) => void
  #dueAt = Number.POSITIVE_INFINITY

  constructor(timer: CoarseTimer, run: () => void, onClose: (timeout: Timeout) => void) {
    this.#timer = timer
    this.#run = run
    this.#onClose = onClose
  }

  /** Replaces the time that was set before. */
  set(ms: number): void {
    this.#dueAt = this.#timer.now() + ms
  }

  tick(now: number): void {
    if (this.#dueAt > now) return
    this.#dueAt = Number.POSITIVE_INFINITY
    this.#run()
  }

  close(): void {
    this.#onClose(this)
  }
}

/** The result of `CoarseTimer.wait` after a timeout. */
export const timedOut = Symbol('timed out')

/** What has something to do after a time; `tick` is called several times a second. */
export interface Ticking {
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

  /** The caller must remove it. */
  add(ticking: Ticking): void {
    this.#ticking.add(ticking)
    this.#timer ??= setInterval(() => this.tick(), this.#tickMs).unref()
  }

  remove(ticking: Ticking): void {
    this.#ticking.delete(ticking)
  }

  /** The result of `work`, or `timedOut` after `ms`. The work continues and can be awaited again. */
  wait<T>(work: Promise<T>, ms: number): Promise<T | typeof timedOut> {
    return new Promise((resolve, reject) => {
      const wait = new Wait(this, this.now() + ms, resolve)
      this.add(wait)
      work.then(
        (result) => {
          this.remove(wait)
          resolve(result)
        },
        (error: unknown) => {
          this.remove(wait)
          reject(error)
        },
      )
    })
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

class Wait implements Ticking {
  readonly #timer: CoarseTimer
  readonly #dueAt: number
  readonly #resolve: (result: typeof timedOut) => void

  constructor(timer: CoarseTimer, dueAt: number, resolve: (result: typeof timedOut) => void) {
    this.#timer = timer
    this.#dueAt = dueAt
    this.#resolve = resolve
  }

  tick(now: number): void {
    if (now < this.#dueAt) return
    this.#timer.remove(this)
    this.#resolve(timedOut)
  }
}

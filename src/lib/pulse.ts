/** The answer of `Pulse.wait` when what was waited for takes longer. */
export const quiet = Symbol('quiet')

interface Waiter {
  wakeAt: number
  wake: () => void
}

/** One clock for all who wait: a timer for each event of each stream would cost more than the event. */
export class Pulse {
  readonly #waiting = new Set<Waiter>()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(tickMs = 250) {
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
  }

  /** What `work` gives, or `quiet` once `ms` have passed; the work goes on and can be waited for again. */
  wait<T>(work: Promise<T>, ms: number): Promise<T | typeof quiet> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { wakeAt: performance.now() + ms, wake: () => resolve(quiet) }
      this.#waiting.add(waiter)
      work.then(
        (value) => {
          this.#waiting.delete(waiter)
          resolve(value)
        },
        (error) => {
          this.#waiting.delete(waiter)
          reject(error)
        },
      )
    })
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const now = performance.now()
    for (const waiter of this.#waiting) {
      if (waiter.wakeAt > now) continue
      this.#waiting.delete(waiter)
      waiter.wake()
    }
  }
}

import type { LeaseTime } from './lease-time.ts'

/** Runs periodic work, one run at a time. */
export class RoundTimer {
  readonly #time: LeaseTime
  readonly #run: () => Promise<number | null>
  #cancel: (() => void) | null = null
  #isRunning = false
  /** Another run became due during the present one. */
  #isDue = false
  #isStopped = false

  /** `run` returns the time until the next run; null if there is none. It must not throw. */
  constructor(time: LeaseTime, run: () => Promise<number | null>) {
    this.#time = time
    this.#run = run
  }

  /** Runs within this time, which may be earlier than planned. */
  schedule(ms: number): void {
    if (this.#isStopped || (this.#cancel && ms > 0)) return
    this.#cancel?.()
    this.#cancel = this.#time.setTimer(() => void this.#tick(), ms)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  async #tick(): Promise<void> {
    this.#cancel = null
    if (this.#isRunning) {
      this.#isDue = true
      return
    }
    this.#isRunning = true
    this.#isDue = false
    const next = await this.#run()
    this.#isRunning = false
    if (this.#isDue) this.schedule(0)
    else if (next !== null) this.schedule(next)
  }
}

/**
 * The most CPU time of this process between two turns of its event loop. Unlike a wall clock it does not
 * count what other processes on the machine do; threads of the collector count, so bounds must be generous.
 */
export class LoopDelay {
  #last = process.cpuUsage()
  #maxMs = 0
  readonly #timer = setInterval(() => this.#tick(), 1)

  #tick(): void {
    const { user, system } = process.cpuUsage(this.#last)
    this.#last = process.cpuUsage()
    this.#maxMs = Math.max(this.#maxMs, (user + system) / 1000)
  }

  /** In milliseconds. */
  stop(): number {
    this.#tick()
    clearInterval(this.#timer)
    return this.#maxMs
  }
}

/**
 * The most CPU time of this thread between two turns of its event loop. Unlike `LoopDelay` it does not count what other
 * threads of the process do.
 */
export class ThreadDelay {
  #last = process.threadCpuUsage()
  #maxMs = 0
  readonly #timer = setInterval(() => this.#tick(), 1)

  #tick(): void {
    const now = process.threadCpuUsage()
    const used = now.user - this.#last.user + now.system - this.#last.system
    this.#last = now
    this.#maxMs = Math.max(this.#maxMs, used / 1000)
  }

  /** In milliseconds. */
  stop(): number {
    this.#tick()
    clearInterval(this.#timer)
    return this.#maxMs
  }
}

/**
 * The most CPU time of this thread between two turns of its event loop. Unlike a wall clock it does not count what
 * other processes and threads do.
 */
export class LoopDelay {
  #last = process.threadCpuUsage()
  #maxMs = 0
  readonly #timer = setInterval(() => this.#tick(), 1)

  #tick(): void {
    const now = process.threadCpuUsage()
    const used = now.user - this.#last.user + now.system - this.#last.system
    this.#last = now
    this.#maxMs = Math.max(this.#maxMs, used / 1000)
  }

  /** Stops; returns the delay in milliseconds. */
  stop(): number {
    this.#tick()
    clearInterval(this.#timer)
    return this.#maxMs
  }
}

const attempts = 3

/**
 * The longest time in milliseconds for which `run` holds the event loop. Garbage collection may fall into one run, so
 * the least of up to three runs counts; runs end with the first below `limitMs`.
 */
export async function measureLoopDelay(limitMs: number, run: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < attempts && least >= limitMs; attempt++) {
    const delay = new LoopDelay()
    try {
      await run()
    } finally {
      least = Math.min(least, delay.stop())
    }
  }
  return least
}

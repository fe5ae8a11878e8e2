/** Bounds work in the background, of which each piece has a name and runs once at a time. */
export class TaskPool {
  readonly max: number
  readonly #running = new Map<string, Promise<void>>()
  #isClosed = false

  constructor(max: number) {
    this.max = max
  }

  /** Number of tasks that can still start. */
  get free(): number {
    return this.#isClosed ? 0 : Math.max(0, this.max - this.#running.size)
  }

  /** Counts the running tasks whose names begin with the prefix. */
  countRunning(prefix: string): number {
    return [...this.#running.keys()].filter((name) => name.startsWith(prefix)).length
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Starts the work, or joins it if it is running. */
  run(name: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(name)
    if (running) return running
    const started = work().finally(() => this.#running.delete(name))
    this.#running.set(name, started)
    return started
  }

  /** Resolves when nothing is running, whether or not it succeeded. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled([...this.#running.values()])
  }

  /** Reports no free places from now on, and resolves when nothing is running. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.idle()
  }
}

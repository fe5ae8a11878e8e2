/** A mirror that waits. */
export interface WaitingMirror {
  shadowId: string
  /** How many of its shadow may run at a time. */
  concurrency: number
  bytes: number
  /** Sends the mirror; must not throw. */
  run(signal: AbortSignal): Promise<void>
  /** Called instead of `run` if the process ends before. */
  drop(): void
}

const maxWaiting = 1000
/** Bytes of the requests that wait or run, and of their replies. */
const maxBytes = 64 * 1024 * 1024
/** Mirrors of all shadows at a time. */
const maxRunning = 200

/** The mirrors of this process: few at a time, the oldest first, and bounded in number and size. */
export class MirrorQueue {
  #waiting: WaitingMirror[] = []
  readonly #running = new Map<string, number>()
  readonly #tasks = new Set<Promise<void>>()
  readonly #abort = new AbortController()
  #bytes = 0
  #isClosed = false

  /** Mirrors that wait or run. */
  get size(): number {
    return this.#waiting.length + this.#tasks.size
  }

  /** Adds a mirror; false if there are too many, or they are too large together. */
  add(mirror: WaitingMirror): boolean {
    if (this.#isClosed || this.#waiting.length >= maxWaiting || this.#bytes + mirror.bytes > maxBytes)
      return false
    this.#bytes += mirror.bytes
    this.#waiting.push(mirror)
    // After the end of the reply is written.
    setImmediate(() => this.#start())
    return true
  }

  /** Drops what waits, and ends what runs after this time. Resolves when nothing runs. */
  async close(ms: number): Promise<void> {
    this.#isClosed = true
    for (const mirror of this.#waiting.splice(0)) {
      this.#bytes -= mirror.bytes
      mirror.drop()
    }
    const deadline = setTimeout(() => this.#abort.abort(), ms)
    await this.idle()
    clearTimeout(deadline)
  }

  /** Resolves when nothing waits or runs. */
  async idle(): Promise<void> {
    while (this.size > 0) {
      await Promise.all(this.#tasks)
      if (this.#tasks.size === 0 && this.#waiting.length > 0)
        await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #start(): void {
    for (let index = 0; index < this.#waiting.length && this.#tasks.size < maxRunning; ) {
      const mirror = this.#waiting[index]
      if (!mirror || this.#countRunning(mirror) >= mirror.concurrency) index++
      else {
        this.#waiting.splice(index, 1)
        this.#run(mirror)
      }
    }
  }

  #countRunning({ shadowId }: WaitingMirror): number {
    return this.#running.get(shadowId) ?? 0
  }

  #run(mirror: WaitingMirror): void {
    const { shadowId, bytes } = mirror
    this.#running.set(shadowId, this.#countRunning(mirror) + 1)
    const task = mirror.run(this.#abort.signal).finally(() => {
      const left = this.#countRunning(mirror) - 1
      if (left > 0) this.#running.set(shadowId, left)
      else this.#running.delete(shadowId)
      this.#bytes -= bytes
      this.#tasks.delete(task)
      this.#start()
    })
    this.#tasks.add(task)
  }
}

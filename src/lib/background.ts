/** Beyond this an event log is given up: the reply itself goes on. */
const mostCharacters = 16 * 1024 * 1024

/** The events of a reply that is made without a reader, for readers that come and go. */
export class EventLog {
  readonly #events: string[] = []
  #size = 0
  #isOver = false
  #changed = Promise.withResolvers<void>()

  append(event: string): void {
    if (this.#isOver) return
    this.#size += event.length
    if (this.#size > mostCharacters) {
      this.#events.length = 0
      this.#isOver = true
    } else this.#events.push(event)
    this.#announce()
  }

  /** Nothing follows. */
  end(): void {
    this.#isOver = true
    this.#announce()
  }

  /** The event with this number, as soon as it is there; null when there is none. */
  async at(place: number): Promise<string | null> {
    while (place >= this.#events.length && !this.#isOver) await this.#changed.promise
    return this.#events[place] ?? null
  }

  #announce(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers<void>()
  }
}

/** Why a run was ended before its end. */
export type StopReason = 'cancelled' | 'shutdown'

/** A reply that is made for a client that does not wait for it. */
export class BackgroundRun {
  readonly log = new EventLog()
  readonly #controller = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  #reason: StopReason | null = null

  get signal(): AbortSignal {
    return this.#controller.signal
  }
  /** Resolves when its last state is stored. */
  get done(): Promise<void> {
    return this.#done.promise
  }
  get stopReason(): StopReason | null {
    return this.#reason
  }

  stop(reason: StopReason): void {
    this.#reason ??= reason
    this.#controller.abort()
  }

  finish(): void {
    this.log.end()
    this.#done.resolve()
  }
}

/** Those under way in this process, by the id of their response. */
export class BackgroundRuns {
  readonly #runs = new Map<string, BackgroundRun>()

  start(id: string): BackgroundRun {
    const run = new BackgroundRun()
    this.#runs.set(id, run)
    void run.done.then(() => this.#runs.delete(id))
    return run
  }

  get(id: string): BackgroundRun | undefined {
    return this.#runs.get(id)
  }

  /** Lets what is under way finish for so long, then stops the rest. */
  async drain(ms: number): Promise<void> {
    const all = () => Promise.all([...this.#runs.values()].map(({ done }) => done))
    const deadline = setTimeout(() => {
      for (const run of this.#runs.values()) run.stop('shutdown')
    }, ms)
    await all()
    clearTimeout(deadline)
  }
}

/** Characters of the events of a reply; beyond it, all but the last event are dropped, and the reply continues. */
const maxCharacters = 16 * 1024 * 1024
/** Characters of all event logs of a node together. */
const maxCharactersPerNode = 128 * 1024 * 1024

/** Characters in the event logs of a node. */
export interface LogBudget {
  used: number
}

/** The events of a background reply, for readers that connect and disconnect. */
export class EventLog {
  readonly #budget: LogBudget
  #events: string[] = []
  /** Number of all events, including dropped ones. */
  #count = 0
  #size = 0
  #isDropped = false
  #isOver = false
  #changed = Promise.withResolvers<void>()

  constructor(budget: LogBudget = { used: 0 }) {
    this.#budget = budget
  }

  get count(): number {
    return this.#count
  }

  append(event: string, isLast = false): void {
    if (this.#isOver) return
    this.#count += 1
    if (!this.#isDropped && !this.#hasRoom(event.length)) this.#drop()
    if (this.#isDropped) this.#events = isLast ? [event] : []
    else {
      this.#events.push(event)
      this.#size += event.length
      this.#budget.used += event.length
    }
    this.#notify()
  }

  /** Ends the log: nothing can be appended. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#release()
    this.#notify()
  }

  /**
   * Waits for the event with this number and returns it with the number of the next one; null at the end of the log.
   * If events were dropped, the last event of the reply stands for all of them.
   */
  async read(index: number): Promise<{ event: string; next: number } | null> {
    while (!this.#isOver && (this.#isDropped || index >= this.#events.length)) await this.#changed.promise
    const isDropped = this.#isDropped && index < this.#count
    const event = this.#events[isDropped ? 0 : index]
    return event === undefined ? null : { event, next: isDropped ? this.#count : index + 1 }
  }

  #hasRoom(characters: number): boolean {
    return this.#size + characters <= maxCharacters && this.#budget.used + characters <= maxCharactersPerNode
  }

  #drop(): void {
    this.#isDropped = true
    this.#release()
  }

  #release(): void {
    this.#budget.used -= this.#size
    this.#size = 0
  }

  #notify(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers<void>()
  }
}

/** The reason a run was stopped early. */
export type StopReason = 'cancelled' | 'shutdown'

/** A background reply in progress. */
export class BackgroundRun {
  readonly log: EventLog
  readonly #controller = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  readonly #cancelled = Promise.withResolvers<void>()
  #reason: StopReason | null = null
  #isComplete = false

  constructor(budget: LogBudget) {
    this.log = new EventLog(budget)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }
  /** Resolves when the final state is stored. */
  get done(): Promise<void> {
    return this.#done.promise
  }
  /** Resolves when the run is canceled before its reply is complete; the rest of the upstream reply is not needed. */
  get cancelled(): Promise<void> {
    return this.#cancelled.promise
  }
  get stopReason(): StopReason | null {
    return this.#reason
  }

  stop(reason: StopReason): void {
    this.#reason ??= reason
    this.#controller.abort()
    if (this.#reason === 'cancelled' && !this.#isComplete) this.#cancelled.resolve()
  }

  /** Whether the complete reply may be stored: false once canceled. A later cancellation has no effect. */
  complete(): boolean {
    this.#isComplete ||= this.#reason !== 'cancelled'
    return this.#isComplete
  }

  finish(): void {
    this.log.end()
    this.#done.resolve()
  }
}

/** The runs of this process, by response id. */
export class BackgroundRuns {
  readonly #runs = new Map<string, BackgroundRun>()
  readonly #logBudget: LogBudget = { used: 0 }

  start(id: string): BackgroundRun {
    const run = new BackgroundRun(this.#logBudget)
    this.#runs.set(id, run)
    void run.done.then(() => this.#runs.delete(id))
    return run
  }

  get(id: string): BackgroundRun | undefined {
    return this.#runs.get(id)
  }

  /** Number of runs in progress. */
  get size(): number {
    return this.#runs.size
  }

  /** Waits for the runs to finish, and stops those that take longer. */
  async drain(ms: number): Promise<void> {
    const all = () => Promise.all([...this.#runs.values()].map(({ done }) => done))
    const deadline = setTimeout(() => {
      for (const run of this.#runs.values()) run.stop('shutdown')
    }, ms)
    await all()
    clearTimeout(deadline)
  }
}

/** Beyond this the events of a reply are dropped, all but its last one: the reply itself goes on. */
const maxCharacters = 16 * 1024 * 1024
/** Of all logs of a node together. */
const maxCharactersPerNode = 128 * 1024 * 1024

/** What the logs of a node hold, in characters. */
export interface LogBudget {
  used: number
}

/** The events of a reply that is made without a reader, for readers that come and go. */
export class EventLog {
  readonly #budget: LogBudget
  #events: string[] = []
  /** Of all events, those that were dropped included. */
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

  /** Nothing follows. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#release()
    this.#notify()
  }

  /**
   * The event with this number, as soon as it is there, and the number of the one to read next; null when there is
   * none. Where events were dropped, the event that ends the reply takes the place of all of them.
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

/** Why a run was ended before its end. */
export type StopReason = 'cancelled' | 'shutdown'

/** A reply that is made for a client that does not wait for it. */
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
  /** Resolves when its last state is stored. */
  get done(): Promise<void> {
    return this.#done.promise
  }
  /** Resolves when it is cancelled before its reply is complete: nobody waits for what the provider still sends. */
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

  /** Whether a complete reply may be stored: not once it was cancelled. A cancellation after this changes nothing. */
  complete(): boolean {
    this.#isComplete ||= this.#reason !== 'cancelled'
    return this.#isComplete
  }

  finish(): void {
    this.log.end()
    this.#done.resolve()
  }
}

/** Those under way in this process, by the id of their response. */
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

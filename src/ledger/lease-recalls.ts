import { type Clock, isoNow } from '../platform/time/clock.ts'
import type { LeaseDatabase } from './lease-database.ts'
import type { LeaseTime } from './lease-time.ts'

/** Leases are not granted on a meter for this long after it rejected a request. */
const recallMs = 10_000
/** Other nodes return what they do not use within a round; those that do not are silent. */
const patienceMs = 2000
/** Interval at which what leases still reserve is looked up. */
const checkMs = 100
/** Interval at which recalls of other nodes are noticed. */
const readMs = 200

interface Recall {
  since: number
  checkedAt: number
  isReturning: boolean
}

/** Has leases returned where they keep a limit from being used. */
export class LeaseRecalls {
  readonly #database: LeaseDatabase
  readonly #clock: Clock
  readonly #time: LeaseTime
  readonly #recalls = new Map<string, Recall>()
  #read: ReadonlySet<string> = new Set()
  #readAt = Number.NEGATIVE_INFINITY

  constructor(database: LeaseDatabase, clock: Clock, time: LeaseTime) {
    this.#database = database
    this.#clock = clock
    this.#time = time
  }

  /** Recalls what leases reserve in a meter; whether more of its limit is about to be available. */
  async request(subject: string): Promise<boolean> {
    const now = this.#time.now()
    const known = this.#recalls.get(subject)
    const recall =
      known && now - known.since < recallMs / 2 ? known : { since: now, checkedAt: 0, isReturning: true }
    if (recall !== known) this.#remember(subject, recall, now)
    if (recall.isReturning && now - recall.checkedAt >= checkMs) {
      recall.checkedAt = now
      const until = new Date(this.#clock.now() + recallMs).toISOString()
      recall.isReturning = await this.#database.recall(subject, until)
    }
    return recall.isReturning && now - recall.since < patienceMs
  }

  #remember(subject: string, recall: Recall, now: number): void {
    for (const [old, { since }] of this.#recalls) if (now - since >= recallMs) this.#recalls.delete(old)
    this.#recalls.set(subject, recall)
  }

  /** The meters without leases, as of a moment ago. */
  async read(): Promise<ReadonlySet<string>> {
    const now = this.#time.now()
    if (now - this.#readAt < readMs) return this.#read
    this.#readAt = now
    this.#read = await this.#database.readRecalled(isoNow(this.#clock))
    return this.#read
  }
}

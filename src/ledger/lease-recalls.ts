import type { OperationResult } from './engine.ts'
import type { LeaseDatabase } from './lease-database.ts'
import type { LeaseTime } from './lease-time.ts'

/** Leases are not granted on a meter for this long after it rejected a request. */
const recallMs = 10_000
/** Other nodes return what they do not use within a round; those that do not are silent. */
const patienceMs = 2000
/** Interval at which what leases still reserve is looked up. */
const checkMs = 100
/** Interval at which recalls of other nodes are noticed without a message. */
const readMs = 200

/** Messages to other nodes, which may be lost. */
export interface RecallChannel {
  publish(subjects: readonly string[]): void
  subscribe(listener: (subjects: readonly string[]) => void): void
}

/** The meter whose limit rejects a request that would fit if nothing else were held. */
export function findRecallable(result: OperationResult): string | null {
  if (result === null || typeof result === 'string' || result.reason !== 'limit') return null
  return result.held === 0n || result.needed > result.attainable ? null : result.limit.subject
}

interface Recall {
  since: number
  checkedAt: number
  isReturning: boolean
}

/** Has leases returned where they keep a limit from being used. */
export class LeaseRecalls {
  readonly #database: LeaseDatabase
  readonly #channel: RecallChannel | null
  readonly #time: LeaseTime
  readonly #recalls = new Map<string, Recall>()
  #read: ReadonlySet<string> = new Set()
  #readAt = Number.NEGATIVE_INFINITY

  constructor(database: LeaseDatabase, channel: RecallChannel | null, time: LeaseTime) {
    this.#database = database
    this.#channel = channel
    this.#time = time
  }

  /** Recalls what leases reserve in meters; returns those of whose limits more is about to be available. */
  async request(subjects: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const now = this.#time.now()
    const recalls = new Map([...subjects].map((subject) => [subject, this.#find(subject, now)]))
    const due = [...recalls].filter(([, recall]) => recall.isReturning && now - recall.checkedAt >= checkMs)
    if (due.length > 0) await this.#recall(new Map(due), now)
    const returning = [...recalls].filter(
      ([, { isReturning, since }]) => isReturning && now - since < patienceMs,
    )
    return new Set(returning.map(([subject]) => subject))
  }

  /** The recall in progress, or a new one. */
  #find(subject: string, now: number): Recall {
    const known = this.#recalls.get(subject)
    if (known && now - known.since < recallMs / 2) return known
    for (const [old, { since }] of this.#recalls) if (now - since >= recallMs) this.#recalls.delete(old)
    const recall = { since: now, checkedAt: Number.NEGATIVE_INFINITY, isReturning: true }
    this.#recalls.set(subject, recall)
    return recall
  }

  async #recall(recalls: ReadonlyMap<string, Recall>, now: number): Promise<void> {
    for (const recall of recalls.values()) recall.checkedAt = now
    const leased = await this.#database.recall([...recalls.keys()], recallMs)
    for (const [subject, recall] of recalls) recall.isReturning = leased.has(subject)
    if (leased.size > 0) this.#channel?.publish([...leased])
  }

  /** The meters without leases, as of a moment ago. */
  async read(): Promise<ReadonlySet<string>> {
    const now = this.#time.now()
    if (now - this.#readAt < readMs) return this.#read
    this.#readAt = now
    this.#read = await this.#database.readRecalled()
    return this.#read
  }
}

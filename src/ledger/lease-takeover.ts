import type { LeaseDatabase, OpenJournal } from './lease-database.ts'
import { leaseTerms } from './lease-rounds.ts'
import type { LeaseTime } from './lease-time.ts'

/**
 * What a dead node may have acknowledged without writing it stays reserved for this long, or until the node has started
 * again and written it.
 */
const allowanceMs = 86_400_000

interface Observation {
  renewedAt: string
  since: number
}

/** Takes over the leases of nodes that no longer renew them. */
export class LeaseTakeover {
  readonly #database: LeaseDatabase
  readonly #nodeId: string
  readonly #time: LeaseTime
  readonly #observed = new Map<string, Observation>()
  #checkedAt = Number.NEGATIVE_INFINITY

  constructor(database: LeaseDatabase, nodeId: string, time: LeaseTime) {
    this.#database = database
    this.#nodeId = nodeId
    this.#time = time
  }

  /** Returns how many journals were taken over. */
  async run(now: string): Promise<number> {
    let taken = 0
    const expiresAt = new Date(Date.parse(now) + allowanceMs).toISOString()
    for (const journal of this.#findSilent(await this.#database.listOpenJournals(this.#nodeId)))
      if (await this.#database.takeOver(journal, expiresAt, now)) taken++
    await this.#database.releaseExpired(now)
    return taken
  }

  /** After a gap in watching, such as an outage, every node has the whole time again. */
  #findSilent(journals: readonly OpenJournal[]): OpenJournal[] {
    const now = this.#time.now()
    if (now - this.#checkedAt > leaseTerms.silentMs / 2) this.#observed.clear()
    this.#checkedAt = now
    const ids = new Set(journals.map(({ id }) => id))
    for (const id of this.#observed.keys()) if (!ids.has(id)) this.#observed.delete(id)
    return journals.filter(({ id, renewedAt }) => {
      const known = this.#observed.get(id)
      if (known?.renewedAt === renewedAt) return now - known.since > leaseTerms.silentMs
      this.#observed.set(id, { renewedAt, since: now })
      return false
    })
  }
}

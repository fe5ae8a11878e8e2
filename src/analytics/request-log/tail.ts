import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { isVisible, type LogSelection, matchesAll } from './selection.ts'
import { type GenerationRow, isInPeriod, type LogEntry, mergeEntries, type RefusedRow } from './walk.ts'

/** Other nodes may commit a record this much later than its time says. */
const overlapMs = 3000
/** Records that are read at once, of all organizations. */
const maxRead = 5000

export interface TailBatch {
  entries: LogEntry[]
  /** Whether requests are missing, because there were more than can be followed. */
  isIncomplete: boolean
}

/** New requests of some organizations, from all nodes, in the order of their arrival. */
export class RequestTail {
  readonly #db: Db
  readonly #clock: Clock
  /** The time of the requests that were returned, by id. */
  #seen = new Map<string, string>()
  #from: string

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
    this.#from = new Date(clock.now()).toISOString()
  }

  /** Reads the requests that are new since the last call. */
  async read(organizationIds: readonly string[]): Promise<TailBatch> {
    const now = this.#clock.now()
    const [generations, refused, isIncomplete] = await Promise.all([
      readGenerationsSince(this.#db, this.#from, organizationIds),
      readRefusedSince(this.#db, this.#from, organizationIds),
      hasMoreSince(this.#db, this.#from),
    ])
    const seen = new Map<string, string>()
    const isNew = (row: { id: string }, time: string) => {
      seen.set(row.id, time)
      return !this.#seen.has(row.id)
    }
    const entries = mergeEntries(
      generations.filter((row) => isNew(row, row.ended_at)),
      refused.filter((row) => isNew(row, row.created_at)),
    )
    this.#seen = seen
    this.#from = new Date(now - overlapMs).toISOString()
    return { entries: entries.reverse(), isIncomplete }
  }
}

/** Whether a new request is among those that a reader follows. */
export function isFollowed(selection: LogSelection, { generation, refused }: LogEntry): boolean {
  const row = generation ?? refused
  const conditions = generation ? selection.generations : selection.refused
  return (
    conditions !== null &&
    row.organization_id === selection.organizationId &&
    (selection.id === null || selection.id === row.id) &&
    (!selection.isUnsuccessful || generation?.status !== 'completed') &&
    isInPeriod(selection, row) &&
    matchesAll(conditions, { ...row }) &&
    isVisible(selection, { ...row })
  )
}

/** The newest, through the index of the time of settlement. */
function readGenerationsSince(
  db: Db,
  from: string,
  organizationIds: readonly string[],
): Promise<GenerationRow[]> {
  const newest = db
    .selectFrom('generations')
    .selectAll()
    .where('ended_at', '>', from)
    .orderBy('ended_at', 'desc')
    .limit(maxRead)
  return db
    .selectFrom(newest.as('newest'))
    .selectAll()
    .where(sql<boolean>`organization_id in (${sql.join(organizationIds)})`)
    .execute()
}

async function hasMoreSince(db: Db, from: string): Promise<boolean> {
  const next = await db
    .selectFrom('generations')
    .select('ended_at')
    .where('ended_at', '>', from)
    .orderBy('ended_at', 'desc')
    .limit(1)
    .offset(maxRead)
    .executeTakeFirst()
  return next !== undefined
}

function readRefusedSince(db: Db, from: string, organizationIds: readonly string[]): Promise<RefusedRow[]> {
  return db
    .selectFrom('refused_requests')
    .selectAll()
    .where('organization_id', 'in', organizationIds)
    .where('created_at', '>', from)
    .orderBy('created_at', 'desc')
    .limit(maxRead)
    .execute()
}

import { sql } from 'kysely'
import type { Db } from '../db/db.ts'

export interface ResponseLimits {
  /** Of one workspace. */
  max_count: number
  max_bytes: number
}

/** After so much of the quota was added, it is looked at whether there is still room. */
const share = 0.1
const rowsAtOnce = 1000
const deletedAtOnce = 100

interface Added {
  count: number
  bytes: number
  isTrimming: boolean
}

/**
 * Keeps what a workspace stores within its quota: the oldest responses go. To count on every write would read all rows
 * each time, so that the quota may be passed by a tenth for a moment.
 */
export class ResponseQuota {
  readonly #db: Db
  readonly #report: (error: unknown) => void
  readonly #added = new Map<string, Added>()

  constructor(db: Db, report: (error: unknown) => void) {
    this.#db = db
    this.#report = report
  }

  /** A response is about to be stored. The first one since the start counts as many: nobody knows what is there. */
  note(workspaceId: string, bytes: number, limits: ResponseLimits): void {
    const added = this.#added.get(workspaceId) ?? { count: limits.max_count, bytes: 0, isTrimming: false }
    this.#added.set(workspaceId, added)
    added.count += 1
    added.bytes += bytes
    const isDue = added.count > limits.max_count * share || added.bytes > limits.max_bytes * share
    if (!isDue || added.isTrimming) return
    Object.assign(added, { count: 0, bytes: 0, isTrimming: true })
    trim(this.#db, workspaceId, limits)
      .catch(this.#report)
      .finally(() => {
        added.isTrimming = false
      })
  }
}

/** Deletes the oldest responses of a workspace until the others are within the limits. */
export async function trim(db: Db, workspaceId: string, limits: ResponseLimits): Promise<void> {
  const oldest = await firstBeyond(db, workspaceId, limits)
  if (!oldest) return
  const { created_at, id } = oldest
  for (;;) {
    const rows = await db
      .selectFrom('stored_responses')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where(sql<boolean>`(created_at, id) <= (${created_at}, ${id})`)
      .limit(deletedAtOnce)
      .execute()
    const ids = rows.map((row) => row.id)
    if (ids.length > 0) await db.deleteFrom('stored_responses').where('id', 'in', ids).execute()
    if (ids.length < deletedAtOnce) return
  }
}

interface Place {
  created_at: string
  id: string
}

/** From the newest on: the first response that there is no room for. The newest itself stays, however large. */
async function firstBeyond(db: Db, workspaceId: string, limits: ResponseLimits): Promise<Place | undefined> {
  let [count, bytes] = [0, 0]
  let after: Place | undefined
  for (;;) {
    const rows = await newestAfter(db, workspaceId, after)
    for (const row of rows) {
      count += 1
      bytes += row.stored_bytes
      if (count > limits.max_count || (count > 1 && bytes > limits.max_bytes)) return row
    }
    if (rows.length < rowsAtOnce) return undefined
    after = rows.at(-1)
  }
}

function newestAfter(db: Db, workspaceId: string, after: Place | undefined) {
  return db
    .selectFrom('stored_responses')
    .select(['id', 'created_at', 'stored_bytes'])
    .where('workspace_id', '=', workspaceId)
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(created_at, id) < (${after?.created_at}, ${after?.id})`),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(rowsAtOnce)
    .execute()
}

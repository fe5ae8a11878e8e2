import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'

export interface ResponseLimits {
  /** Responses per workspace. */
  max_count: number
  max_bytes: number
}

/** The quota is checked after this share of it was added. */
const trimThreshold = 0.1
const readBatchSize = 1000
const deleteBatchSize = 100

interface PendingUsage {
  count: number
  bytes: number
  isTrimming: boolean
}

/**
 * Keeps the stored responses of a workspace within its quota by deleting the oldest. Counting on every write would
 * read all rows each time, so the quota may be exceeded by a tenth for a moment.
 */
export class ResponseQuota {
  readonly #db: Db
  readonly #onError: (error: unknown) => void
  readonly #pending = new Map<string, PendingUsage>()

  constructor(db: Db, onError: (error: unknown) => void) {
    this.#db = db
    this.#onError = onError
  }

  /** Called before a response is stored. The first one after start-up triggers a check: the total is unknown. */
  recordResponse(workspaceId: string, bytes: number, limits: ResponseLimits): void {
    const pending = this.#pending.get(workspaceId) ?? { count: limits.max_count, bytes: 0, isTrimming: false }
    this.#pending.set(workspaceId, pending)
    pending.count += 1
    pending.bytes += bytes
    if (!pending.isTrimming) void this.#trim(workspaceId, pending, limits)
  }

  /** Repeats, since responses may be stored while others are deleted. */
  async #trim(workspaceId: string, pending: PendingUsage, limits: ResponseLimits): Promise<void> {
    pending.isTrimming = true
    try {
      while (isTrimDue(pending, limits)) {
        Object.assign(pending, { count: 0, bytes: 0 })
        await trimResponses(this.#db, workspaceId, limits)
      }
    } catch (error) {
      this.#onError(error)
    } finally {
      pending.isTrimming = false
    }
  }
}

function isTrimDue({ count, bytes }: PendingUsage, { max_count, max_bytes }: ResponseLimits): boolean {
  return count > max_count * trimThreshold || bytes > max_bytes * trimThreshold
}

/** Deletes the oldest responses of a workspace until the others are within the limits. */
export async function trimResponses(db: Db, workspaceId: string, limits: ResponseLimits): Promise<void> {
  const cursor = await findFirstBeyondQuota(db, workspaceId, limits)
  if (!cursor) return
  const { created_at, id } = cursor
  for (;;) {
    const rows = await db
      .selectFrom('stored_responses')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where(sql<boolean>`(created_at, id) <= (${created_at}, ${id})`)
      .limit(deleteBatchSize)
      .execute()
    const ids = rows.map((row) => row.id)
    if (ids.length > 0) await db.deleteFrom('stored_responses').where('id', 'in', ids).execute()
    if (ids.length < deleteBatchSize) return
  }
}

interface ResponseCursor {
  created_at: string
  id: string
}

/** The newest response that exceeds the quota, counted from the newest on. The newest itself always stays. */
async function findFirstBeyondQuota(
  db: Db,
  workspaceId: string,
  limits: ResponseLimits,
): Promise<ResponseCursor | undefined> {
  let [count, bytes] = [0, 0]
  let after: ResponseCursor | undefined
  for (;;) {
    const rows = await listNewestAfter(db, workspaceId, after)
    for (const row of rows) {
      count += 1
      bytes += row.stored_bytes
      if (count > limits.max_count || (count > 1 && bytes > limits.max_bytes)) return row
    }
    if (rows.length < readBatchSize) return undefined
    after = rows.at(-1)
  }
}

function listNewestAfter(db: Db, workspaceId: string, after: ResponseCursor | undefined) {
  return db
    .selectFrom('stored_responses')
    .select(['id', 'created_at', 'stored_bytes'])
    .where('workspace_id', '=', workspaceId)
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(created_at, id) < (${after?.created_at}, ${after?.id})`),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(readBatchSize)
    .execute()
}

import { type RecordColumn, recordColumns, type UsageRecord } from '../../ledger/usage-record.ts'
import type { Db } from '../../platform/db/db.ts'

/** The generations that ended after `from` and up to `to`. */
export interface GenerationSlice {
  from: string
  to: string
}

/** Reads these columns only; the others are missing from the rows. */
export async function readGenerations(
  db: Db,
  ids: readonly string[],
  columns: readonly RecordColumn[],
): Promise<UsageRecord[]> {
  return db.selectFrom('generations').select(columns).where('id', 'in', ids).execute()
}

export interface QueryScope {
  organizationId: string
  /** Period in which requests began; `to` is exclusive. */
  from: string
  to: string
}

/** Reads these columns only; the others are missing from the rows. */
export async function readSlice(
  db: Db,
  { from, to }: GenerationSlice,
  scope: QueryScope,
  columns: readonly RecordColumn[],
): Promise<UsageRecord[]> {
  return db
    .selectFrom('generations')
    .select(columns)
    .where('ended_at', '>', from)
    .where('ended_at', '<=', to)
    .where('organization_id', '=', scope.organizationId)
    .where('created_at', '>=', scope.from)
    .where('created_at', '<', scope.to)
    .execute()
}

export async function readGenerationsInScope(
  db: Db,
  ids: readonly string[],
  scope: QueryScope,
): Promise<UsageRecord[]> {
  return db
    .selectFrom('generations')
    .select(recordColumns)
    .where('id', 'in', ids)
    .where('organization_id', '=', scope.organizationId)
    .where('created_at', '>=', scope.from)
    .where('created_at', '<', scope.to)
    .execute()
}

/** The newest first. Generations with the same end are never split. Null when nothing ended since. */
export async function findPreviousSlice(
  db: Db,
  since: string,
  until: string,
  size: number,
): Promise<GenerationSlice | null> {
  const selectEndTimes = (offset: number) =>
    db
      .selectFrom('generations')
      .select('ended_at')
      .where('ended_at', '>', since)
      .where('ended_at', '<=', until)
      .orderBy('ended_at', 'desc')
      .limit(1)
      .offset(offset)
      .executeTakeFirst()
  const first = await selectEndTimes(size)
  if (first) return { from: first.ended_at, to: until }
  return (await selectEndTimes(0)) ? { from: since, to: until } : null
}

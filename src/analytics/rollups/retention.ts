import { sql } from 'kysely'
import { compactEntries } from '../../ledger/compaction.ts'
import { type Db, isPostgres } from '../../platform/db/db.ts'
import { monthlyTables } from '../../platform/db/monthly/partitions.ts'
import { dropExpiredMonths, type IdRange, readMonthlyIds } from '../../platform/db/monthly/retention.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { utcDay } from '../../platform/time/time.ts'
import { endAbandonedStream, hideBefore } from '../clickhouse/stream-store.ts'
import { compactSegments } from './compact-segments.ts'
import { completeLevels } from './complete-levels.ts'
import { deleteSegments, findSegmentsBefore } from './segment-store.ts'

const dayMs = 86_400_000
/** Small enough that other users of the database do not notice. */
const batchSize = 500
/** Queries for single requests reach back a year; the daily roll-up is retained. */
export const segmentRetentionDays = 400
/** Without a node that has CLICKHOUSE_URL, generations are queued for this long. */
const abandonedDays = 2
/** Generations wait here to be rolled up, and to be sent to ClickHouse: none is deleted before. */
const queues = ['unrolled_generations', 'clickhouse_queue'] as const
/** Unusual spending is recognized by the last four weeks. */
const hourRetentionDays = 35

export interface MaintenanceContext {
  db: Db
  clock: Clock
}

/** Days for which generations are retained, and for which charges are posted individually; null: forever. */
export interface RetentionPolicy {
  retentionDays: number | null
  postingDays: number | null
  /** Generations stored by month are only deleted as whole months. */
  isByMonth?: boolean
}

/** Runs work that is not urgent: speeds up queries, and deletes expired rows. */
export async function runMaintenance(
  context: MaintenanceContext,
  { retentionDays, postingDays, isByMonth = false }: RetentionPolicy,
): Promise<void> {
  await endAbandonedStream(context.db, isoDaysAgo(context.clock, abandonedDays))
  await compactSegments(context)
  await completeLevels(context)
  await deleteOldGenerations(context, retentionDays, isByMonth)
  await deleteOldHits(context, retentionDays)
  await deleteOldRefusals(context, retentionDays)
  await deleteOldSegments(context)
  await deleteOldHours(context)
  if (postingDays !== null) await compactEntries(context.db, isoDaysAgo(context.clock, postingDays))
  // PostgreSQL maintains its statistics itself.
  if (!isPostgres(context.db)) await sql`pragma optimize`.execute(context.db)
}

/**
 * Deletes generations older than this many days, once they are in no queue, with their dependent rows: whole months at
 * once where they are stored by month, and the rest by row. Returns how many were deleted by row.
 */
export async function deleteOldGenerations(
  { db, clock }: MaintenanceContext,
  days: number | null,
  isByMonth = false,
): Promise<number> {
  if (days === null) return 0
  const cutoff = isoDaysAgo(clock, days)
  const unrolled = await findFirstUnrolledEnd(db)
  const until = unrolled === null || cutoff < unrolled ? cutoff : unrolled
  await hideBefore(db, until)
  await dropOldMonths(db, until)
  const monthly = isByMonth ? await readMonthlyIds(db, 'generations') : null
  for (let deleted = 0; ; ) {
    const ids = await findEndedBefore(db, until, monthly)
    if (ids.length === 0) return deleted
    await db.transaction().execute((tx) => deleteGenerations(tx, ids))
    deleted += ids.length
  }
}

/** Deletes what guardrails found in requests older than this many days; refused requests have no generation. */
export async function deleteOldHits({ db, clock }: MaintenanceContext, days: number | null): Promise<number> {
  if (days === null) return 0
  const cutoff = isoDaysAgo(clock, days)
  for (let deleted = 0; ; ) {
    const { numDeletedRows } = await db
      .deleteFrom('guardrail_hits')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('guardrail_hits')
          .select('id')
          .where('created_at', '<', cutoff)
          .orderBy('created_at')
          .limit(batchSize),
      )
      .executeTakeFirst()
    deleted += Number(numDeletedRows)
    if (numDeletedRows < BigInt(batchSize)) return deleted
  }
}

/** Deletes refused requests older than this many days, and the routing decisions of that time. */
export async function deleteOldRefusals(
  { db, clock }: MaintenanceContext,
  days: number | null,
): Promise<void> {
  if (days === null) return
  const cutoff = isoDaysAgo(clock, days)
  // Steps from organization to organization: the index begins with them.
  for (let after = ''; ; ) {
    const next = await db
      .selectFrom('refused_requests')
      .select((eb) => eb.fn.min<string | null>('organization_id').as('id'))
      .where('organization_id', '>', after)
      .executeTakeFirst()
    if (!next?.id) break
    after = next.id
    while ((await deleteRefused(db, after, cutoff)) === batchSize);
  }
  // A request is settled a while after it was routed.
  await db
    .deleteFrom('routing_plans')
    .where('id', '<', isoDaysAgo(clock, days + 2).slice(0, 10))
    .execute()
}

async function deleteRefused(db: Db, organizationId: string, cutoff: string): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('refused_requests')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('refused_requests')
        .select('id')
        .where('organization_id', '=', organizationId)
        .where('created_at', '<', cutoff)
        .orderBy('created_at')
        .limit(batchSize),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Deletes what keys spent in hours that no baseline reads any more. */
async function deleteOldHours({ db, clock }: MaintenanceContext): Promise<void> {
  const before = isoDaysAgo(clock, hourRetentionDays).slice(0, 13)
  for (;;) {
    const { first } = await db
      .selectFrom('key_hours')
      .select((eb) => eb.fn.min<string | null>('hour').as('first'))
      .executeTakeFirstOrThrow()
    if (first === null || first >= before) return
    await db.deleteFrom('key_hours').where('hour', '=', first).execute()
  }
}

function isoDaysAgo(clock: Clock, days: number): string {
  return new Date(clock.now() - days * dayMs).toISOString()
}

/** Null when all are rolled up, and in ClickHouse if they are streamed there. */
async function findFirstUnrolledEnd(db: Db): Promise<string | null> {
  const ends = await Promise.all(
    queues.map((queue) =>
      db
        .selectFrom(queue)
        .innerJoin('generations', 'generations.id', 'generation_id')
        .select((eb) => eb.fn.min<string | null>('ended_at').as('first'))
        .executeTakeFirst(),
    ),
  )
  return ends.flatMap((row) => row?.first ?? []).sort()[0] ?? null
}

/** Except those with ids in `monthly`. */
async function findEndedBefore(db: Db, until: string, monthly: IdRange | null): Promise<string[]> {
  const rows = await db
    .selectFrom('generations')
    .select('id')
    .where('ended_at', '<', until)
    .$if(monthly !== null, (query) =>
      query.where((eb) => eb.or([eb('id', '<', monthly?.from ?? ''), eb('id', '>=', monthly?.to ?? '')])),
    )
    .orderBy('ended_at')
    .limit(batchSize)
    .execute()
  return rows.map(({ id }) => id)
}

function dropOldMonths(db: Db, until: string): Promise<number> {
  const [generations, ...others] = monthlyTables.map(({ name }) => name)
  if (generations === undefined) throw new Error('no table is stored by month')
  return dropExpiredMonths(db, {
    tables: [generations, ...others],
    column: 'ended_at',
    until,
    isNeeded: hasQueuedIn,
    deleteOthers: (ids) => deleteDependents(db, ids),
  })
}

/** Whether generations wait to be rolled up, or to be sent to ClickHouse. */
async function hasQueuedIn(db: Db, { from, to }: IdRange): Promise<boolean> {
  for (const queue of queues) {
    const row = await db
      .selectFrom(queue)
      .select('generation_id')
      .where('generation_id', '>=', from)
      .where('generation_id', '<', to)
      .limit(1)
      .executeTakeFirst()
    if (row) return true
  }
  return false
}

/** Deletes what is recorded of few generations only, and is therefore not stored by month. */
async function deleteDependents(db: Db, { from, to }: IdRange): Promise<void> {
  for (const table of ['generation_feedback', 'generation_tasks', 'corrections'] as const) {
    for (;;) {
      const { numDeletedRows } = await db
        .deleteFrom(table)
        .where('generation_id', 'in', (eb) =>
          eb
            .selectFrom(table)
            .select('generation_id')
            .where('generation_id', '>=', from)
            .where('generation_id', '<', to)
            .limit(batchSize),
        )
        .executeTakeFirst()
      if (numDeletedRows === 0n) break
    }
  }
}

async function deleteGenerations(tx: Db, ids: string[]): Promise<void> {
  await tx.deleteFrom('generation_feedback').where('generation_id', 'in', ids).execute()
  await tx.deleteFrom('generation_contents').where('generation_id', 'in', ids).execute()
  await tx.deleteFrom('generation_lines').where('generation_id', 'in', ids).execute()
  await tx.deleteFrom('generation_tasks').where('generation_id', 'in', ids).execute()
  await tx.deleteFrom('corrections').where('generation_id', 'in', ids).execute()
  await tx.deleteFrom('generations').where('id', 'in', ids).execute()
}

/** Deletes the roll-ups of single requests that can no longer be queried. */
export async function deleteOldSegments({ db, clock }: MaintenanceContext): Promise<void> {
  const day = utcDay(clock.now() - segmentRetentionDays * dayMs)
  for (;;) {
    const ids = await findSegmentsBefore(db, 'request', day, batchSize)
    if (ids.length === 0) return
    await db.transaction().execute((tx) => deleteSegments(tx, ids))
  }
}

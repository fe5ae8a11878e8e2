import { type Selectable, sql } from 'kysely'
import { decodeReversal } from '../../ledger/usage-record.ts'
import { newUuid } from '../../platform/crypto/ids.ts'
import type { Db } from '../../platform/db/db.ts'
import type {
  ClickHouseQueueTable,
  ClickHouseStreamTable,
  UnrolledGenerationTable,
} from '../../platform/db/schema.ts'

export type Stream = Selectable<ClickHouseStreamTable>
export type QueueRow = Selectable<ClickHouseQueueTable>

const streamName = 'generations'
const rowsPerStatement = 500

export function findStream(db: Db): Promise<Stream | undefined> {
  return db.selectFrom('clickhouse_stream').selectAll().executeTakeFirst()
}

/** Begins a stream, unless there is one. */
export async function beginStream(db: Db, now: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await advanceRollUps(tx)
    await tx
      .insertInto('clickhouse_stream')
      .values({
        ...{ name: streamName, stream_id: newUuid(), seen_at: now },
        ...{ is_backfilled: 0, is_ended: 0, exported: 0 },
      })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute()
  })
}

/** Begins a stream again that has ended. Its tables must be empty. */
export async function resumeStream(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await advanceRollUps(tx)
    await tx.updateTable('clickhouse_stream').set({ is_ended: 0 }).execute()
  })
}

/** Counts as a step of the roll-ups: a batch that was read before is read again, and thus queued. */
export async function advanceRollUps(tx: Db): Promise<void> {
  await tx
    .updateTable('instance')
    .set({ value: sql<string>`cast(cast(value as bigint) + 1 as text)` })
    .where('name', '=', 'roll_up_steps')
    .execute()
}

/** Forgets the stream: another one begins from nothing, with tables of its own. */
export async function deleteStream(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('clickhouse_stream').execute()
    await tx.deleteFrom('clickhouse_queue').execute()
  })
}

/** What is known of tables that are empty. */
export const nothingSent = {
  covered_from: null,
  backfill_position: null,
  backfill_until: null,
  is_backfilled: 0,
} as const

/** Ends a stream that no node has sent to since a time, so that its queue does not grow forever. */
export async function endAbandonedStream(db: Db, since: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('clickhouse_stream')
      .set({ ...nothingSent, is_ended: 1 })
      .where('seen_at', '<', since)
      .where('is_ended', '=', 0)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) await tx.deleteFrom('clickhouse_queue').execute()
  })
}

/** Hides generations that ended before a time from queries of ClickHouse, before the database deletes them. */
export async function hideBefore(db: Db, time: string): Promise<void> {
  await db.updateTable('clickhouse_stream').set({ retained_from: time }).execute()
}

export async function updateStream(
  db: Db,
  streamId: string,
  change: Partial<Omit<ClickHouseStreamTable, 'exported'>>,
): Promise<void> {
  await db.updateTable('clickhouse_stream').set(change).where('stream_id', '=', streamId).execute()
}

/** Sends stored generations that ended after a time once more. False while the first backfill runs. */
export async function repeatBackfill(db: Db, since: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('clickhouse_stream')
    .set({ backfill_position: null, backfill_until: since })
    .where('is_backfilled', '=', 1)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Takes or renews the lease of the node that exports. Lost without harm: rows have versions. */
export async function takeLease(
  db: Db,
  { owner, now, until }: { owner: string; now: string; until: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('clickhouse_stream')
    .set({ lease_owner: owner, lease_until: until, seen_at: now })
    .where((eb) =>
      eb.or([eb('lease_owner', 'is', null), eb('lease_owner', '=', owner), eb('lease_until', '<', now)]),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function releaseLease(db: Db, owner: string): Promise<void> {
  await db
    .updateTable('clickhouse_stream')
    .set({ lease_owner: null, lease_until: null })
    .where('lease_owner', '=', owner)
    .execute()
}

/**
 * Queues generations in the transaction that rolls them up, if there is a stream. `version` is the number of that step,
 * which every correction increases.
 */
export async function queueGenerations(
  tx: Db,
  version: number,
  unrolled: readonly UnrolledGenerationTable[],
  arrivals: ReadonlyMap<string, string>,
): Promise<void> {
  const stream = await findStream(tx)
  if (!stream || stream.is_ended === 1) return
  const rows = unrolled.map(({ generation_id, organization_id, previous }): QueueRow => {
    const arrival = previous === null ? null : decodeReversal(previous).created_at
    const hasMoved = arrival !== null && arrival !== arrivals.get(generation_id)
    return { generation_id, organization_id, version, moved_from: hasMoved ? arrival : null }
  })
  for (let at = 0; at < rows.length; at += rowsPerStatement)
    await tx
      .insertInto('clickhouse_queue')
      .values(rows.slice(at, at + rowsPerStatement))
      .onConflict((conflict) =>
        conflict.column('generation_id').doUpdateSet({
          version,
          moved_from: sql<string | null>`coalesce(clickhouse_queue.moved_from, excluded.moved_from)`,
        }),
      )
      .execute()
}

export function readQueue(db: Db, limit: number): Promise<QueueRow[]> {
  return db
    .selectFrom('clickhouse_queue')
    .selectAll()
    .orderBy('version')
    .orderBy('generation_id')
    .limit(limit)
    .execute()
}

/** Removes what was acknowledged. A generation that changed meanwhile has a higher version, and stays. */
export async function acknowledge(db: Db, rows: readonly QueueRow[], now: string): Promise<void> {
  const version = Math.max(...rows.map((row) => row.version))
  await db.transaction().execute(async (tx) => {
    for (let at = 0; at < rows.length; at += rowsPerStatement) {
      const ids = rows.slice(at, at + rowsPerStatement).map((row) => row.generation_id)
      await tx
        .deleteFrom('clickhouse_queue')
        .where('generation_id', 'in', ids)
        .where('version', '<=', version)
        .execute()
    }
    await countExported(tx, rows.length, now)
  })
}

export async function countExported(db: Db, count: number, now: string): Promise<void> {
  await db
    .updateTable('clickhouse_stream')
    .set((eb) => ({ exported: eb('exported', '+', count), exported_at: now }))
    .execute()
}

/** Counts the queue up to a limit. */
export async function countQueue(db: Db, max: number): Promise<number> {
  const rows = sql`select 1 from clickhouse_queue limit ${sql.lit(max)}`
  const result = await sql<{ count: number }>`select count(*) as count from (${rows}) as waiting`.execute(db)
  return Number(result.rows[0]?.count ?? 0)
}

/** What ClickHouse can answer for an organization, and what has to be added from the database. */
export interface Coverage {
  streamId: string
  coveredFrom: string | null
  retainedFrom: string | null
  isBackfilled: boolean
  /** Generations that ClickHouse does not have, or has an older version of. */
  pending: string[]
}

/** Read in one statement: a generation that is not pending is in ClickHouse. */
export async function readCoverage(
  db: Db,
  organizationId: string,
  maxPending: number,
): Promise<Coverage | null> {
  const waiting = (table: string) =>
    sql`select generation_id from ${sql.table(table)} where organization_id = ${organizationId} limit ${sql.lit(maxPending + 1)}`
  const { rows } = await sql<{
    id: string | null
    stream: string | null
    covered: string | null
    retained: string | null
    done: number
  }>`
    select null as id, stream_id as stream, covered_from as covered, retained_from as retained, is_backfilled as done from clickhouse_stream
    union all select generation_id, null, null, null, 0 from (${waiting('clickhouse_queue')}) as queued
    union all select generation_id, null, null, null, 0 from (${waiting('unrolled_generations')}) as unrolled`.execute(
    db,
  )
  const stream = rows.find(({ id }) => id === null)
  if (!stream) return null
  const pending = new Set(rows.flatMap(({ id }) => id ?? []))
  return {
    streamId: stream.stream ?? '',
    coveredFrom: stream.covered,
    retainedFrom: stream.retained,
    isBackfilled: stream.done === 1,
    pending: [...pending],
  }
}

import { sql } from 'kysely'
import { decodeReversal, recordColumns, type UsageRecord } from '../../ledger/usage-record.ts'
import type { Db } from '../../platform/db/db.ts'
import type { KeyDayTable, KeyHourTable, UnrolledGenerationTable } from '../../platform/db/schema.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { queueGenerations } from '../clickhouse/stream-store.ts'
import { buildDatasetBatch, countDatasetBatch } from '../datasets/count.ts'
import { rollupLevelNames, rollupLevels } from './levels.ts'
import { aggregateSegment, buildSegments } from './segment.ts'
import { insertSegments, type NewSegment } from './segment-store.ts'
import { readGenerations } from './slices.ts'
import { minSegmentRows } from './unrolled.ts'

/** Maximum rows in memory at once. */
const defaultMaxRows = 5000
const maxRowsPerStatement = 500

/**
 * Counts the changes of what is rolled up: incrementing it proves that the rows read at the previous number
 * are current.
 */
export const stepCounterKey = 'roll_up_steps'

/**
 * Moves settled generations into the roll-ups in the order of settlement, independent of any clock. Until
 * then queries read the generations themselves, so that no result depends on when this runs. With fewer than
 * `minRows` left it leaves them for later.
 */
export async function rollUp(
  { db }: { db: Db },
  { minRows = minSegmentRows, maxRows = defaultMaxRows } = {},
): Promise<number> {
  for (let rows = 0; ; ) {
    const steps = await readStepCount(db)
    const unrolled = await findOldestUnrolled(db, maxRows)
    if (unrolled.length < Math.min(minRows, maxRows) || unrolled.length === 0) return rows
    if (await rollUpBatch(db, steps, unrolled)) rows += unrolled.length
  }
}

export async function readStepCount(db: Db): Promise<string> {
  const row = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', stepCounterKey)
    .executeTakeFirstOrThrow()
  return row.value
}

/** Finds rows by id, which grows with time, so that those of one day are adjacent. */
async function findOldestUnrolled(db: Db, maxRows: number): Promise<UnrolledGenerationTable[]> {
  return db.selectFrom('unrolled_generations').selectAll().orderBy('generation_id').limit(maxRows).execute()
}

/** False when another process was faster. */
async function rollUpBatch(
  db: Db,
  steps: string,
  unrolled: readonly UnrolledGenerationTable[],
): Promise<boolean> {
  const ids = unrolled.map(({ generation_id }) => generation_id)
  const current = await readGenerations(db, ids, recordColumns)
  const reversals = unrolled.flatMap(({ previous }) => (previous === null ? [] : [decodeReversal(previous)]))
  const records = [...current, ...reversals]
  const arrivals = new Map(current.map(({ id, created_at }) => [id, created_at]))
  const segments = await buildNewSegments(records)
  const totals = computeKeyDays(records)
  const hours = computeKeyHours(records)
  const datasets = await buildDatasetBatch(db, records)
  return db.transaction().execute(async (tx) => {
    if (!(await advanceStep(tx, steps))) return false
    for (const some of splitChunks(ids)) {
      await tx.deleteFrom('unrolled_generations').where('generation_id', 'in', some).execute()
    }
    await queueGenerations(tx, Number(steps) + 1, unrolled, arrivals)
    await insertSegments(tx, segments)
    await addKeyDays(tx, totals)
    await addKeyHours(tx, hours)
    await countDatasetBatch(tx, datasets)
    return true
  })
}

/**
 * Another process that read the same rows, or rows that were corrected meanwhile, finds the number changed.
 */
export async function advanceStep(tx: Db, steps: string): Promise<boolean> {
  const result = await tx
    .updateTable('instance')
    .set({ value: String(Number(steps) + 1) })
    .where('name', '=', stepCounterKey)
    .where('value', '=', steps)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

function splitChunks<T>(rows: readonly T[]): T[][] {
  const count = Math.ceil(rows.length / maxRowsPerStatement)
  return Array.from({ length: count }, (_, index) =>
    rows.slice(index * maxRowsPerStatement, (index + 1) * maxRowsPerStatement),
  )
}

async function buildNewSegments(records: readonly UsageRecord[]): Promise<NewSegment[]> {
  const segments: NewSegment[] = []
  for (const [organizationId, ofOrganization] of Map.groupBy(records, (record) => record.organization_id)) {
    for (const segment of buildSegments(ofOrganization, (column) => column !== 'id')) {
      const origin = { organizationId, requests: segment.size }
      segments.push({ ...origin, level: 'request', segment })
      for (const level of rollupLevelNames) {
        segments.push({ ...origin, level, segment: aggregateSegment(segment, rollupLevels[level]) })
      }
      await yieldToEventLoop()
    }
  }
  return segments
}

function computeKeyDays(records: readonly UsageRecord[]): KeyDayTable[] {
  const totals = new Map<string, KeyDayTable>()
  for (const record of records) {
    const day = record.created_at.slice(0, 10)
    const user_id = record.user_id ?? ''
    const key = `${record.key_id} ${day} ${record.workspace_id} ${user_id}`
    const { key_id, organization_id, workspace_id } = record
    const total = totals.get(key) ?? {
      ...{ key_id, day, organization_id, workspace_id, user_id },
      ...{ requests: 0, usage_nanos: 0n, byok_usage_nanos: 0n },
    }
    const sign = record.sign ?? 1
    total.requests += sign
    total.usage_nanos += BigInt(sign) * record.cost_nanos
    if (record.is_byok) total.byok_usage_nanos += BigInt(sign) * record.upstream_cost_nanos
    totals.set(key, total)
  }
  return [...totals.values()]
}

async function addKeyDays(tx: Db, totals: readonly KeyDayTable[]): Promise<void> {
  const addToColumn = (column: string) => sql`key_days.${sql.ref(column)} + excluded.${sql.ref(column)}`
  for (const some of splitChunks(totals)) {
    await tx
      .insertInto('key_days')
      .values(some)
      .onConflict((conflict) =>
        conflict.columns(['key_id', 'day', 'workspace_id', 'user_id']).doUpdateSet({
          requests: sql<number>`${addToColumn('requests')}`,
          usage_nanos: sql<bigint>`${addToColumn('usage_nanos')}`,
          byok_usage_nanos: sql<bigint>`${addToColumn('byok_usage_nanos')}`,
        }),
      )
      .execute()
  }
}

/** Sums the credits that each key spent, by UTC hour. */
function computeKeyHours(records: readonly UsageRecord[]): KeyHourTable[] {
  const totals = new Map<string, KeyHourTable>()
  for (const { key_id, created_at, cost_nanos, sign } of records) {
    if (cost_nanos === 0n) continue
    const hour = created_at.slice(0, 13)
    const key = `${key_id} ${hour}`
    const total = totals.get(key) ?? { key_id, hour, usage_nanos: 0n }
    total.usage_nanos += BigInt(sign ?? 1) * cost_nanos
    totals.set(key, total)
  }
  return [...totals.values()]
}

async function addKeyHours(tx: Db, totals: readonly KeyHourTable[]): Promise<void> {
  for (const some of splitChunks(totals)) {
    await tx
      .insertInto('key_hours')
      .values(some)
      .onConflict((conflict) =>
        conflict.columns(['key_id', 'hour']).doUpdateSet({
          usage_nanos: sql<bigint>`key_hours.usage_nanos + excluded.usage_nanos`,
        }),
      )
      .execute()
  }
}

import { sql } from 'kysely'
import type { Db } from '../../db/db.ts'
import type { KeyDayTable, UnrolledGenerationTable } from '../../db/schema.ts'
import { nextTurn } from '../../lib/turns.ts'
import { type Fact, factColumns, readTakenBack } from './facts.ts'
import { rolledLevelNames, rolledLevels } from './levels.ts'
import { collapse, segmentsOf } from './segment.ts'
import { insertSegments, type NewSegment } from './segments.ts'
import { readUnrolled } from './slices.ts'

/** A segment is worth its while from this size. */
const enough = 2000
/** What is held in memory at once. */
const rowsAtOnce = 5000
const rowsPerStatement = 500

/** How often what is rolled up was changed: whoever raises it has the rows that were read at the number before. */
export const stepsName = 'roll_up_steps'

/**
 * Moves settled generations into the roll-ups, in whatever order they were settled: no clock has a say in it. Until
 * then queries read the generations themselves, so that no answer depends on when this runs. With fewer than
 * `fewest` left it leaves them for later.
 */
export async function rollUp(
  { db }: { db: Db },
  { fewest = enough, most = rowsAtOnce } = {},
): Promise<number> {
  for (let rows = 0; ; ) {
    const steps = await stepCount(db)
    const unrolled = await oldestUnrolled(db, most)
    if (unrolled.length < Math.min(fewest, most) || unrolled.length === 0) return rows
    if (await rollStep(db, steps, unrolled)) rows += unrolled.length
  }
}

async function stepCount(db: Db): Promise<string> {
  const row = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', stepsName)
    .executeTakeFirstOrThrow()
  return row.value
}

/** By their ids, which grow with time: those of one day lie together. */
async function oldestUnrolled(db: Db, most: number): Promise<UnrolledGenerationTable[]> {
  return db.selectFrom('unrolled_generations').selectAll().orderBy('generation_id').limit(most).execute()
}

/** False when somebody else was faster. */
async function rollStep(
  db: Db,
  steps: string,
  unrolled: readonly UnrolledGenerationTable[],
): Promise<boolean> {
  const ids = unrolled.map(({ generation_id }) => generation_id)
  const current = await readUnrolled(db, ids, factColumns)
  const takenBack = unrolled.flatMap(({ previous }) => (previous === null ? [] : [readTakenBack(previous)]))
  const facts = [...current, ...takenBack]
  const made = await newSegments(facts)
  const sums = keyDays(facts)
  return db.transaction().execute(async (tx) => {
    if (!(await advance(tx, steps))) return false
    for (const some of parts(ids)) {
      await tx.deleteFrom('unrolled_generations').where('generation_id', 'in', some).execute()
    }
    await insertSegments(tx, made)
    await addKeyDays(tx, sums)
    return true
  })
}

/** Another process that read the same rows, or rows that were corrected meanwhile, finds the number changed. */
async function advance(tx: Db, steps: string): Promise<boolean> {
  const result = await tx
    .updateTable('instance')
    .set({ value: String(Number(steps) + 1) })
    .where('name', '=', stepsName)
    .where('value', '=', steps)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

function parts<T>(rows: readonly T[]): T[][] {
  const count = Math.ceil(rows.length / rowsPerStatement)
  return Array.from({ length: count }, (_, place) =>
    rows.slice(place * rowsPerStatement, (place + 1) * rowsPerStatement),
  )
}

async function newSegments(facts: readonly Fact[]): Promise<NewSegment[]> {
  const made: NewSegment[] = []
  for (const [organizationId, own] of Map.groupBy(facts, (fact) => fact.organization_id)) {
    for (const segment of segmentsOf(own, (column) => column !== 'id')) {
      made.push({ organizationId, level: 'request', segment })
      for (const level of rolledLevelNames) {
        made.push({ organizationId, level, segment: collapse(segment, rolledLevels[level]) })
      }
      await nextTurn()
    }
  }
  return made
}

function keyDays(facts: readonly Fact[]): KeyDayTable[] {
  const sums = new Map<string, KeyDayTable>()
  for (const fact of facts) {
    const day = fact.created_at.slice(0, 10)
    const user_id = fact.user_id ?? ''
    const slot = `${fact.key_id} ${day} ${fact.workspace_id} ${user_id}`
    const { key_id, organization_id, workspace_id } = fact
    const sum = sums.get(slot) ?? {
      ...{ key_id, day, organization_id, workspace_id, user_id },
      ...{ requests: 0, usage_nanos: 0n, byok_usage_nanos: 0n },
    }
    const sign = fact.sign ?? 1
    sum.requests += sign
    sum.usage_nanos += BigInt(sign) * fact.cost_nanos
    if (fact.is_byok) sum.byok_usage_nanos += BigInt(sign) * fact.upstream_cost_nanos
    sums.set(slot, sum)
  }
  return [...sums.values()]
}

async function addKeyDays(tx: Db, sums: readonly KeyDayTable[]): Promise<void> {
  const grown = (column: string) => sql`key_days.${sql.ref(column)} + excluded.${sql.ref(column)}`
  for (const some of parts(sums)) {
    await tx
      .insertInto('key_days')
      .values(some)
      .onConflict((conflict) =>
        conflict.columns(['key_id', 'day', 'workspace_id', 'user_id']).doUpdateSet({
          requests: sql<number>`${grown('requests')}`,
          usage_nanos: sql<bigint>`${grown('usage_nanos')}`,
          byok_usage_nanos: sql<bigint>`${grown('byok_usage_nanos')}`,
        }),
      )
      .execute()
  }
}

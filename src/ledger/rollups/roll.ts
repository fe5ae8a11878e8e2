import { type Kysely, sql } from 'kysely'
import type { Db } from '../../db/db.ts'
import type { KeyDayTable, Schema } from '../../db/schema.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Fact } from './facts.ts'
import { rolledLevelNames, rolledLevels } from './levels.ts'
import { collapse, nextTurn, segmentsOf } from './segment.ts'
import { insertSegments, type NewSegment, rolledUntil, rolledUntilName } from './segments.ts'
import { nextSlice, readSlice, type Slice } from './slices.ts'

/** What ended later may still be on its way into the database; a commit is given up long before. */
const marginMs = 30_000
/** A segment is worth its while from this size; what has waited this long is taken anyway. */
const enough = 2000
const patienceMs = 15 * 60_000
/** What is held in memory at once. */
const rowsAtOnce = 5000
const rowsPerUpsert = 500

export interface Parts {
  db: Kysely<Schema>
  clock: Clock
}

/**
 * Moves what ended since the last time into the roll-ups. Cheap when there is little to do; call it often. Until
 * then queries read the generations themselves, so that no answer depends on when this runs.
 */
export async function rollUp(
  { db, clock }: Parts,
  { atOnce = false, most = rowsAtOnce } = {},
): Promise<number> {
  const now = clock.now()
  const until = new Date(now - marginMs).toISOString()
  const old = new Date(now - patienceMs).toISOString()
  let rows = 0
  for (;;) {
    const slice = await nextDue(db, until, atOnce ? until : old, most)
    if (!slice) break
    rows += await rollSlice(db, slice)
  }
  return rows
}

async function nextDue(db: Db, until: string, old: string, most: number): Promise<Slice | null> {
  const from = await rolledUntil(db)
  const slice = await nextSlice(db, from, until, most)
  if (!slice || slice.to < until) return slice
  // The last one is not full: it can wait for more.
  const isLarge = (await nextSlice(db, from, until, enough))?.to !== until
  return isLarge || (await nextSlice(db, from, old, enough)) ? slice : null
}

async function rollSlice(db: Db, slice: Slice): Promise<number> {
  const facts = await readSlice(db, slice)
  const made = await newSegments(facts)
  const sums = keyDays(facts)
  const isDone = await db.transaction().execute(async (tx) => {
    if (!(await advance(tx, slice))) return false
    await insertSegments(tx, made)
    await addKeyDays(tx, sums)
    return true
  })
  return isDone ? facts.length : 0
}

/** Whoever moves the mark has the rows behind it: another process that read the same ones finds it moved. */
async function advance(tx: Db, { from, to }: Slice): Promise<boolean> {
  const result = await tx
    .updateTable('instance')
    .set({ value: to })
    .where('name', '=', rolledUntilName)
    .where('value', '=', from)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
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
    sum.requests++
    sum.usage_nanos += fact.cost_nanos
    if (fact.is_byok) sum.byok_usage_nanos += fact.upstream_cost_nanos
    sums.set(slot, sum)
  }
  return [...sums.values()]
}

async function addKeyDays(tx: Db, sums: readonly KeyDayTable[]): Promise<void> {
  const grown = (column: string) => sql`key_days.${sql.ref(column)} + excluded.${sql.ref(column)}`
  for (let at = 0; at < sums.length; at += rowsPerUpsert) {
    await tx
      .insertInto('key_days')
      .values(sums.slice(at, at + rowsPerUpsert))
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

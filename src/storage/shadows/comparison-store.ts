import { sql } from 'kysely'
import { newTimeOrderedHex } from '../../platform/crypto/ids.ts'
import type { Statement } from '../../platform/db/batch.ts'
import type { Db } from '../../platform/db/db.ts'
import { utcDay } from '../../platform/time/time.ts'
import type { Comparison } from './comparison.ts'

/** The names of the reasons for which a request is not mirrored. */
export const skipReasons = [
  'too_large',
  'queue_full',
  'tools',
  'plugins',
  'cached',
  'rejected',
  'canceled',
  'budget',
  'rate_limit',
  'no_endpoints',
  'policy',
  'invalid',
  'disabled',
  'shutdown',
  'internal',
] as const
export type SkipReason = (typeof skipReasons)[number]

export interface StoredComparison extends Comparison {
  id: string
  created_at: string
}

export function buildComparisonInsert(
  db: Db,
  shadowId: string,
  at: number,
  comparison: Comparison,
): Statement {
  const { sql: text, parameters } = db
    .insertInto('shadow_comparisons')
    .values({
      id: `cmp-${newTimeOrderedHex()}`,
      shadow_id: shadowId,
      created_at: new Date(at).toISOString(),
      differs: comparison.differences.length > 0 ? 1 : 0,
      record: JSON.stringify(comparison),
    })
    .compile()
  return { sql: text, values: parameters }
}

export function buildSkipCount(db: Db, shadowId: string, at: number, reason: SkipReason): Statement {
  const { sql: text, parameters } = db
    .insertInto('shadow_skips')
    .values({ shadow_id: shadowId, day: utcDay(at), reason, requests: 1n })
    .onConflict((conflict) =>
      conflict
        .columns(['shadow_id', 'day', 'reason'])
        .doUpdateSet({ requests: sql`shadow_skips.requests + 1` }),
    )
    .compile()
  return { sql: text, values: parameters }
}

interface ComparisonSelection {
  shadowId: string
  from: string
  /** Only those with a difference. */
  differing: boolean
  /** The last one of the page before. */
  before: { created_at: string; id: string } | null
  limit: number
}

/** Newest first. */
export async function listComparisonRows(
  db: Db,
  { shadowId, from, differing, before, limit }: ComparisonSelection,
) {
  let query = db
    .selectFrom('shadow_comparisons')
    .select(['id', 'created_at', 'record'])
    .where('shadow_id', '=', shadowId)
    .where('created_at', '>=', from)
  if (differing) query = query.where('differs', '=', 1)
  if (before) query = query.where(sql<boolean>`(created_at, id) < (${before.created_at}, ${before.id})`)
  return query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
}

export interface SkipCount {
  reason: string
  requests: number
}

/** The requests that were not mirrored since this day, most first. */
export async function listSkips(db: Db, shadowId: string, day: string): Promise<SkipCount[]> {
  const rows = await db
    .selectFrom('shadow_skips')
    .select((eb) => ['reason', eb.fn.sum<bigint>('requests').as('requests')])
    .where('shadow_id', '=', shadowId)
    .where('day', '>=', day)
    .groupBy('reason')
    .execute()
  return rows
    .map(({ reason, requests }) => ({ reason, requests: Number(requests) }))
    .sort((a, b) => b.requests - a.requests || a.reason.localeCompare(b.reason))
}

const retentionDays = 30
const dayMs = 86_400_000
/** The newest comparisons of a shadow; older ones are deleted. */
const maxComparisons = 100_000
/** Rows that one statement deletes. */
const batch = 5000

/** Deletes comparisons that are old or too many, and those of deleted shadows; a bounded number in a run. */
export async function trimComparisons({ db, clock }: { db: Db; clock: { now(): number } }): Promise<void> {
  const before = new Date(clock.now() - retentionDays * dayMs).toISOString()
  const ids = db
    .selectFrom('shadow_comparisons')
    .select('id')
    .where((eb) =>
      eb.or([
        eb('created_at', '<', before),
        eb('shadow_id', 'not in', eb.selectFrom('shadows').select('shadows.id')),
      ]),
    )
    .limit(batch)
  for (let runs = 0; runs < 20; runs++) {
    const { numDeletedRows } = await db
      .deleteFrom('shadow_comparisons')
      .where('id', 'in', ids)
      .executeTakeFirst()
    if (numDeletedRows < batch) break
  }
  await db
    .deleteFrom('shadow_skips')
    .where((eb) =>
      eb.or([
        eb('day', '<', before.slice(0, 10)),
        eb('shadow_id', 'not in', eb.selectFrom('shadows').select('shadows.id')),
      ]),
    )
    .execute()
  for (const { id } of await db.selectFrom('shadows').select('id').execute()) await trimShadow(db, id)
}

/** Deletes what is older than the newest comparisons of a shadow. */
async function trimShadow(db: Db, shadowId: string): Promise<void> {
  const last = await db
    .selectFrom('shadow_comparisons')
    .select('created_at')
    .where('shadow_id', '=', shadowId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .offset(maxComparisons)
    .limit(1)
    .executeTakeFirst()
  if (!last) return
  await db
    .deleteFrom('shadow_comparisons')
    .where('shadow_id', '=', shadowId)
    .where('created_at', '<=', last.created_at)
    .execute()
}

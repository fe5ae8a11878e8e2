import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { decodeCounter } from './applied-limits.ts'
import type { LimitRule } from './limit-rule.ts'
import type { WindowPosition } from './window.ts'

/** A count that has changed since it was written. */
export interface ChangedCount {
  name: string
  limitId: string
  start: number
  used: number
}

interface StoredCount {
  used: number
  /** Milliseconds since the epoch. */
  countedAt: number
}

const rowsPerStatement = 500
/** Counts listed for one limit. */
const maxListed = 100

export async function findCount(
  db: Db,
  name: string,
  { start }: WindowPosition,
): Promise<StoredCount | null> {
  const row = await db
    .selectFrom('limit_counts')
    .select(['used', 'counted_at'])
    .where('name', '=', name)
    .where('period_start', '=', BigInt(start))
    .executeTakeFirst()
  return row ? { used: Number(row.used), countedAt: Date.parse(row.counted_at) } : null
}

/** The largest counts of a limit in one window. */
export async function listStoredCounts(db: Db, limitId: string, start: number): Promise<{ name: string }[]> {
  return db
    .selectFrom('limit_counts')
    .select('name')
    .where('limit_id', '=', limitId)
    .where('period_start', '=', BigInt(start))
    .orderBy('used', 'desc')
    .limit(maxListed)
    .execute()
}

export async function writeCounts(db: Db, counts: readonly ChangedCount[], now: number): Promise<void> {
  const counted_at = new Date(now).toISOString()
  for (let at = 0; at < counts.length; at += rowsPerStatement) {
    const chunk = counts.slice(at, at + rowsPerStatement)
    await db.transaction().execute(async (tx) => {
      // A limit may have been deleted meanwhile.
      const known = await tx
        .selectFrom('limits')
        .select('id')
        .where('id', 'in', [...new Set(chunk.map(({ limitId }) => limitId))])
        .execute()
      const ids = new Set(known.map(({ id }) => id))
      const rows = chunk
        .filter(({ limitId }) => ids.has(limitId))
        .map(({ name, limitId, start, used }) => ({
          name,
          limit_id: limitId,
          period_start: BigInt(start),
          used: BigInt(Math.round(used)),
          counted_at,
        }))
      if (rows.length === 0) return
      await tx
        .insertInto('limit_counts')
        .values(rows)
        .onConflict((conflict) =>
          conflict.column('name').doUpdateSet((eb) => ({
            period_start: eb.ref('excluded.period_start'),
            used: eb.ref('excluded.used'),
            counted_at: eb.ref('excluded.counted_at'),
          })),
        )
        .execute()
    })
  }
}

/** Windows of requests and tokens last at most a month, except the whole lifetime, which begins at 0. */
export async function deleteEndedCounts(db: Db, now: number): Promise<void> {
  const monthAgo = BigInt(now - 32 * 86_400_000)
  await db
    .deleteFrom('limit_counts')
    .where('period_start', '>', 0n)
    .where('period_start', '<', monthAgo)
    .execute()
}

interface RecentUse {
  rule: LimitRule
  counter: string
  stored: StoredCount | null
  /** The start of the process, and of the window. */
  until: number
  from: number
}

/** Counts were written at most this long before a process ended. */
const unwrittenMs = 10_000
/** Requests read to restore one count. */
const maxRequests = 20_000

/** What requests used after a count was last written, and before this process started. */
export async function countRecentUse(
  db: Db,
  { rule, counter, stored, until, from }: RecentUse,
): Promise<number> {
  const since = Math.max(from, stored?.countedAt ?? 0, until - unwrittenMs)
  const { match } = rule
  const values = decodeCounter(counter)
  let query = db
    .selectFrom('generations')
    .innerJoin('api_keys', 'api_keys.id', 'generations.key_id')
    .innerJoin('limits', 'limits.organization_id', 'generations.organization_id')
    .select([
      'generations.cost_nanos',
      sql<number>`tokens_input + tokens_cache_read + tokens_cache_read_audio + tokens_cache_write + tokens_cache_write_1h + tokens_input_audio + tokens_input_image + tokens_input_video`.as(
        'input',
      ),
      sql<number>`tokens_output + tokens_reasoning + tokens_output_audio + tokens_output_image`.as('output'),
    ])
    .where('limits.id', '=', rule.id)
    .where('generations.created_at', '>', new Date(since).toISOString())
    .where('generations.created_at', '<=', new Date(until).toISOString())
  const workspaceId = match.workspaceId ?? values.workspace
  if (workspaceId) query = query.where('generations.workspace_id', '=', workspaceId)
  const keyId = match.keyId ?? (values.key === undefined ? null : Number(values.key))
  if (keyId !== null) query = query.where('generations.key_id', '=', keyId)
  const userId = match.userId ?? values.member
  if (userId) query = query.where('api_keys.creator_user_id', '=', userId)
  if (match.tier !== null) query = query.where('api_keys.tier', '=', match.tier)
  const endUser = match.endUser ?? values.end_user
  if (endUser) query = query.where('generations.external_user', '=', endUser)
  if (values.provider) query = query.where('generations.provider', '=', values.provider)
  const rows = await query.limit(maxRequests).execute()
  return rows.reduce((sum, row) => sum + useOf(rule, row), 0)
}

function useOf(
  { measure }: LimitRule,
  { cost_nanos, input, output }: { cost_nanos: bigint; input: number; output: number },
): number {
  switch (measure) {
    case 'usd':
      return Number(cost_nanos)
    case 'input_tokens':
      return Number(input)
    case 'output_tokens':
      return Number(output)
    case 'tokens':
      return Number(input) + Number(output)
    default:
      return 1
  }
}

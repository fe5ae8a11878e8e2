import { sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { LimitReset } from '../db/schema.ts'
import { utcDay, utcMonthStart, utcWeekStart } from '../lib/time.ts'

/** Spend of a key, in nano-dollars: in all, and in the UTC day, Monday week and month that `now` is in. */
export interface Usage {
  total: bigint
  daily: bigint
  weekly: bigint
  monthly: bigint
}

export interface KeyUsage {
  credits: Usage
  byok: Usage
}

const none: Usage = { total: 0n, daily: 0n, weekly: 0n, monthly: 0n }
export const noUsage: KeyUsage = { credits: none, byok: none }

/** Windows come from the clock at the moment of reading: nothing is ever reset. */
export async function usageOfKeys(db: Db, keyIds: number[], now: number): Promise<Map<number, KeyUsage>> {
  if (keyIds.length === 0) return new Map()
  const since = (column: 'usage_nanos' | 'byok_usage_nanos', day: string) =>
    sql<bigint>`coalesce(sum(case when day >= ${day} then ${sql.ref(column)} else 0 end), 0)`
  const [day, week, month] = [utcDay(now), utcWeekStart(now), utcMonthStart(now)]
  const rows = await db
    .selectFrom('key_usage')
    .select([
      'key_id',
      since('usage_nanos', '').as('total_nanos'),
      since('usage_nanos', day).as('daily_nanos'),
      since('usage_nanos', week).as('weekly_nanos'),
      since('usage_nanos', month).as('monthly_nanos'),
      since('byok_usage_nanos', '').as('byok_total_nanos'),
      since('byok_usage_nanos', day).as('byok_daily_nanos'),
      since('byok_usage_nanos', week).as('byok_weekly_nanos'),
      since('byok_usage_nanos', month).as('byok_monthly_nanos'),
    ])
    .where('key_id', 'in', keyIds)
    .groupBy('key_id')
    .execute()
  return new Map(
    rows.map((row) => [
      row.key_id,
      {
        credits: {
          total: row.total_nanos,
          daily: row.daily_nanos,
          weekly: row.weekly_nanos,
          monthly: row.monthly_nanos,
        },
        byok: {
          total: row.byok_total_nanos,
          daily: row.byok_daily_nanos,
          weekly: row.byok_weekly_nanos,
          monthly: row.byok_monthly_nanos,
        },
      },
    ]),
  )
}

export interface Limit {
  amount: bigint | null
  reset: LimitReset | null
  includeByok: boolean
}

/** What is left of a limit in its current window; null when there is no limit. */
export function remainingLimit(limit: Limit, usage: KeyUsage): bigint | null {
  if (limit.amount === null) return null
  const window = limit.reset ?? 'total'
  const spent = usage.credits[window] + (limit.includeByok ? usage.byok[window] : 0n)
  return spent >= limit.amount ? 0n : limit.amount - spent
}

export async function usageOfOrganization(db: Db, organizationId: string): Promise<bigint> {
  const row = await db
    .selectFrom('key_usage')
    .select((eb) => eb.fn.sum<bigint | null>('usage_nanos').as('sum_nanos'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return row?.sum_nanos ?? 0n
}

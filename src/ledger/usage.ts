import type { Db } from '../db/db.ts'
import type { LimitReset } from '../db/schema.ts'
import { utcDay } from '../lib/time.ts'
import type { Sums, Window } from './meter.ts'
import { subjects } from './subjects.ts'
import { metersOn } from './windows.ts'

/** Spend in nano-dollars: in all, and in the UTC day, Monday week and month that `now` is in. */
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
  const meters = await metersOn(db, keyIds.map(subjects.key), utcDay(now))
  return new Map(
    meters.map(({ spent, byok }, place) => [
      keyIds[place] ?? 0,
      { credits: usageIn(spent), byok: usageIn(byok) },
    ]),
  )
}

function usageIn({ total, day, week, month }: Sums): Usage {
  return { total, daily: day, weekly: week, monthly: month }
}

export interface SpendingLimit {
  amount: bigint | null
  reset: LimitReset | null
  includeByok: boolean
}

/** The window that a limit, or a budget, counts in. */
export const windowOf: Record<LimitReset | 'lifetime', Window> = {
  daily: 'day',
  weekly: 'week',
  monthly: 'month',
  lifetime: 'total',
}

/** What is left of a limit in its current window; null when there is no limit. */
export function remainingLimit(limit: SpendingLimit, usage: KeyUsage): bigint | null {
  if (limit.amount === null) return null
  const window = limit.reset ?? 'total'
  const spent = usage.credits[window] + (limit.includeByok ? usage.byok[window] : 0n)
  return spent >= limit.amount ? 0n : limit.amount - spent
}

export async function usageOfOrganization(db: Db, organizationId: string): Promise<bigint> {
  const meter = await db
    .selectFrom('meters')
    .select('total_nanos')
    .where('subject', '=', subjects.organization(organizationId))
    .executeTakeFirst()
  return meter?.total_nanos ?? 0n
}

/** Requests to free variants that an organization made today. */
export async function freeRequestsToday(db: Db, organizationId: string, now: number): Promise<number> {
  const [meter] = await metersOn(db, [subjects.organization(organizationId)], utcDay(now))
  return meter?.freeDay ?? 0
}

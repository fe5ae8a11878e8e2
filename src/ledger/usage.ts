import type { Selectable } from 'kysely'
import type { Db } from '../db/db.ts'
import type { LimitReset, MeterTable } from '../db/schema.ts'
import { utcDay, utcMonthStart, utcWeekStart } from '../lib/time.ts'
import type { Window } from './meter.ts'
import { subjects } from './subjects.ts'

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
  const bySubject = new Map(keyIds.map((id) => [subjects.key(id), id]))
  const usage = new Map<number, KeyUsage>()
  for (const meter of await metersOf(db, [...bySubject.keys()])) {
    const id = bySubject.get(meter.subject)
    if (id !== undefined) usage.set(id, usageIn(meter, now))
  }
  return usage
}

async function metersOf(db: Db, names: string[]): Promise<Selectable<MeterTable>[]> {
  if (names.length === 0) return []
  return db.selectFrom('meters').selectAll().where('subject', 'in', names).execute()
}

function usageIn(meter: Selectable<MeterTable>, now: number): KeyUsage {
  const isDay = meter.day === utcDay(now)
  const isWeek = meter.week === utcWeekStart(now)
  const isMonth = meter.month === utcMonthStart(now)
  return {
    credits: {
      total: meter.total_nanos,
      daily: isDay ? meter.day_nanos : 0n,
      weekly: isWeek ? meter.week_nanos : 0n,
      monthly: isMonth ? meter.month_nanos : 0n,
    },
    byok: {
      total: meter.byok_total_nanos,
      daily: isDay ? meter.byok_day_nanos : 0n,
      weekly: isWeek ? meter.byok_week_nanos : 0n,
      monthly: isMonth ? meter.byok_month_nanos : 0n,
    },
  }
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
  const [meter] = await metersOf(db, [subjects.organization(organizationId)])
  return meter?.total_nanos ?? 0n
}

/** Requests to free variants that an organization made today. */
export async function freeRequestsToday(db: Db, organizationId: string, now: number): Promise<number> {
  const [meter] = await metersOf(db, [subjects.organization(organizationId)])
  return meter && meter.day === utcDay(now) ? meter.free_day : 0
}

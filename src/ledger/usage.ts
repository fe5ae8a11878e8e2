import type { Db } from '../platform/db/db.ts'
import type { LimitReset } from '../platform/db/schema.ts'
import { utcDay } from '../platform/time/time.ts'
import type { Window, WindowTotals } from './meter.ts'
import { loadMetersForDay } from './meter-days.ts'
import { meterSubjects } from './meter-subjects.ts'

/** Spend in nano-dollars: in total, and in the UTC day, Monday week and month of `now`. */
export interface WindowedSpend {
  total: bigint
  daily: bigint
  weekly: bigint
  monthly: bigint
}

export interface KeyUsage {
  credits: WindowedSpend
  byok: WindowedSpend
  /** Time at which a request with the key last began or ended. */
  lastUsedAt: string | null
}

const zeroSpend: WindowedSpend = { total: 0n, daily: 0n, weekly: 0n, monthly: 0n }
export const zeroUsage: KeyUsage = { credits: zeroSpend, byok: zeroSpend, lastUsedAt: null }

/** Windows are derived from the clock when they are read: nothing is ever reset. */
export async function loadKeyUsage(db: Db, keyIds: number[], now: number): Promise<Map<number, KeyUsage>> {
  const meters = await loadMetersForDay(db, keyIds.map(meterSubjects.key), utcDay(now))
  return new Map(
    meters.map(({ spent, byok, usedAt }, index) => [
      keyIds[index] ?? 0,
      { credits: toSpend(spent), byok: toSpend(byok), lastUsedAt: usedAt },
    ]),
  )
}

/** Loads the spending of a member in all workspaces, counted while the member has a limit. */
export async function loadMemberUsage(db: Db, userId: string, now: number): Promise<KeyUsage> {
  const [meter] = await loadMetersForDay(db, [meterSubjects.memberTotal(userId)], utcDay(now))
  if (!meter) return zeroUsage
  return { credits: toSpend(meter.spent), byok: toSpend(meter.byok), lastUsedAt: meter.usedAt }
}

function toSpend({ total, day, week, month }: WindowTotals): WindowedSpend {
  return { total, daily: day, weekly: week, monthly: month }
}

export interface SpendingLimit {
  amount: bigint | null
  reset: LimitReset | null
  includeByok: boolean
}

/** The window that a limit, or a budget, counts in. */
export const windowByReset: Record<LimitReset | 'lifetime', Window> = {
  daily: 'day',
  weekly: 'week',
  monthly: 'month',
  lifetime: 'total',
}

/** Computes the rest of a limit in its current window; null without a limit. */
export function computeRemainingLimit(limit: SpendingLimit, usage: KeyUsage): bigint | null {
  if (limit.amount === null) return null
  const window = limit.reset ?? 'total'
  const spent = usage.credits[window] + (limit.includeByok ? usage.byok[window] : 0n)
  return spent >= limit.amount ? 0n : limit.amount - spent
}

export async function loadOrganizationUsage(db: Db, organizationId: string): Promise<bigint> {
  const meter = await db
    .selectFrom('meters')
    .select('total_nanos')
    .where('subject', '=', meterSubjects.organization(organizationId))
    .executeTakeFirst()
  return meter?.total_nanos ?? 0n
}

/** Requests to free variants that a meter counted today. */
export async function countFreeRequestsToday(db: Db, subject: string, now: number): Promise<number> {
  const [meter] = await loadMetersForDay(db, [subject], utcDay(now))
  return meter?.freeDay ?? 0
}

/** Meters whose names begin with a prefix, those with the most spending first. */
export async function listMeterSubjects(db: Db, prefix: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('meters')
    .select('subject')
    .where('subject', 'like', `${prefix}%`)
    .orderBy('total_nanos', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ subject }) => subject)
}

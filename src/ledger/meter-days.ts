import type { Row } from '../platform/db/batch.ts'
import { type Db, isPostgres } from '../platform/db/db.ts'
import type { HoldTable } from '../platform/db/schema.ts'
import { leasePattern } from './lease-id.ts'
import type { HoldRequest, LedgerState } from './ledger-state.ts'
import { addToCounter, computeDayRange, type Meter, moveToDay, newMeter, setOtherDays } from './meter.ts'
import { decodeMeter, decodeMeterDay } from './tables.ts'

/** The meters whose other days must be loaded, and which days. */
export interface DayLookup {
  subjects: string[]
  from: string
  to: string
}

/** Plans the rows to load before meters can move to the days of the requests; null when none are missing. */
export function planDayLookup(
  { meters }: LedgerState,
  requests: readonly Pick<HoldRequest, 'subjects' | 'day'>[],
): DayLookup | null {
  const moving = requests.flatMap(({ subjects, day }) =>
    subjects.filter((subject) => meters.get(subject)?.day !== day),
  )
  if (moving.length === 0) return null
  const days = requests.map(({ day }) => day)
  return { subjects: [...new Set(moving)], ...computeDayRange([...new Set(days)]) }
}

/** Adds rows of `meter_days` to the meters that need them. */
export function applyOtherDays({ meters }: LedgerState, { subjects }: DayLookup, rows: readonly Row[]): void {
  const bySubject = Map.groupBy(rows, (row) => String(row.subject))
  for (const subject of subjects) {
    const meter = meters.get(subject)
    if (meter) setOtherDays(meter, (bySubject.get(subject) ?? []).map(decodeMeterDay))
  }
}

/** A meter as it is stored. */
export interface StoredMeter extends Meter {
  usedAt: string | null
}

type LeaseRow = Pick<HoldTable, 'subjects' | 'day' | 'amount_nanos' | 'byok_nanos'>

/** What nodes have reserved for requests to come, by subject. */
async function loadLeases(db: Db, subjects: readonly string[]): Promise<Map<string, LeaseRow[]>> {
  const leases = new Map<string, LeaseRow[]>()
  if (!isPostgres(db)) return leases
  const rows = await db
    .selectFrom('holds')
    .select(['subjects', 'day', 'amount_nanos', 'byok_nanos'])
    .where('id', 'like', leasePattern)
    .execute()
  for (const row of rows)
    for (const subject of row.subjects.split(' '))
      if (subjects.includes(subject)) leases.set(subject, [...(leases.get(subject) ?? []), row])
  return leases
}

/**
 * The meters of these subjects in the windows of a day, as limits see them. Held is what requests hold: what a node has
 * reserved for others is available to them.
 */
export async function loadMetersForDay(
  db: Db,
  subjects: readonly string[],
  day: string,
): Promise<StoredMeter[]> {
  if (subjects.length === 0) return []
  const { from, to } = computeDayRange([day])
  // In one statement, so that a day is not counted both as the current one and as another.
  const rows = await db
    .selectFrom('meters')
    .leftJoin('meter_days as other', (join) =>
      join
        .onRef('other.subject', '=', 'meters.subject')
        .on('meters.day', '<>', day)
        .on('other.day', '>=', from)
        .on('other.day', '<=', to),
    )
    .selectAll('meters')
    .select(['other.day as other_day', 'spent_nanos', 'byok_nanos', 'held_nanos', 'held_byok_nanos', 'free'])
    .where('meters.subject', 'in', subjects)
    .execute()
  const bySubject = Map.groupBy(rows, (row) => row.subject)
  const reserved = await loadLeases(db, subjects)
  return subjects.map((subject) => {
    const meterRows = bySubject.get(subject) ?? []
    const meter = meterRows[0] ? decodeMeter({ ...meterRows[0] }) : newMeter(subject)
    const others = meterRows.filter(({ other_day }) => other_day !== null)
    setOtherDays(
      meter,
      others.map((row) => decodeMeterDay({ ...row, day: row.other_day })),
    )
    moveToDay(meter, day)
    for (const lease of reserved.get(subject) ?? []) {
      addToCounter(meter, 'held', lease.day, -lease.amount_nanos)
      addToCounter(meter, 'heldByok', lease.day, -lease.byok_nanos)
    }
    return { ...meter, usedAt: meterRows[0]?.used_at ?? null }
  })
}

export function isInRange({ from, to }: DayLookup, { day }: Row): boolean {
  return String(day) >= from && String(day) <= to
}

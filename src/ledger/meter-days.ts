import { sql } from 'kysely'
import type { Row } from '../platform/db/batch.ts'
import { type Db, isPostgres } from '../platform/db/db.ts'
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

/** Day, amount and BYOK amount of a lease. */
type EncodedLease = [day: string, amount: string, byok: string]

/** What nodes have reserved for requests to come, by subject: a list of leases as JSON. */
function selectReserved(db: Db, subjects: readonly string[]) {
  const reserved = isPostgres(db)
    ? sql<{ subject: string; leases: string }>`(select subject,
        cast(json_agg(json_build_array(day, cast(amount_nanos as text), cast(byok_nanos as text))) as text) as leases
      from (select unnest(string_to_array(subjects, ' ')) as subject, day, amount_nanos, byok_nanos
        from holds where id like ${leasePattern}) as leased
      where subject in (${sql.join(subjects)}) group by subject)`
    : // There are none.
      sql<{ subject: string; leases: string }>`(select '' as subject, '[]' as leases)`
  return reserved.as('reserved')
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
  // In one statement: a day is not counted both as the current one and as another, nor a lease that ends meanwhile.
  const rows = await db
    .selectFrom('meters')
    .leftJoin('meter_days as other', (join) =>
      join
        .onRef('other.subject', '=', 'meters.subject')
        .on('meters.day', '<>', day)
        .on('other.day', '>=', from)
        .on('other.day', '<=', to),
    )
    .leftJoin(selectReserved(db, subjects), (join) => join.onRef('reserved.subject', '=', 'meters.subject'))
    .selectAll('meters')
    .select(['other.day as other_day', 'spent_nanos', 'byok_nanos', 'held_nanos', 'held_byok_nanos', 'free'])
    .select('leases')
    .where('meters.subject', 'in', subjects)
    .execute()
  const bySubject = Map.groupBy(rows, (row) => row.subject)
  return subjects.map((subject) => {
    const meterRows = bySubject.get(subject) ?? []
    const meter = meterRows[0] ? decodeMeter({ ...meterRows[0] }) : newMeter(subject)
    const others = meterRows.filter(({ other_day }) => other_day !== null)
    setOtherDays(
      meter,
      others.map((row) => decodeMeterDay({ ...row, day: row.other_day })),
    )
    moveToDay(meter, day)
    const leases: EncodedLease[] = JSON.parse(meterRows[0]?.leases ?? '[]')
    for (const [leasedOn, amount, byok] of leases) {
      addToCounter(meter, 'held', leasedOn, -BigInt(amount))
      addToCounter(meter, 'heldByok', leasedOn, -BigInt(byok))
    }
    return { ...meter, usedAt: meterRows[0]?.used_at ?? null }
  })
}

export function isInRange({ from, to }: DayLookup, { day }: Row): boolean {
  return String(day) >= from && String(day) <= to
}

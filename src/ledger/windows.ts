import type { Row } from '../db/batch.ts'
import type { Db } from '../db/db.ts'
import type { Book, Wish } from './book.ts'
import { daysAround, type Meter, moveTo, newMeter, setOtherDays } from './meter.ts'
import { dayOf, meterOf } from './tables.ts'

/** Of which meters other days must be known, and which days. */
export interface OtherDays {
  subjects: string[]
  from: string
  to: string
}

/** What must be looked up before meters can move to the days of the wishes; null when they are there already. */
export function otherDaysFor(
  { meters }: Book,
  wishes: readonly Pick<Wish, 'subjects' | 'day'>[],
): OtherDays | null {
  const moving = wishes.flatMap(({ subjects, day }) =>
    subjects.filter((subject) => meters.get(subject)?.day !== day),
  )
  if (moving.length === 0) return null
  const days = wishes.map(({ day }) => day)
  return { subjects: [...new Set(moving)], ...daysAround([...new Set(days)]) }
}

/** Takes the rows of `meter_days` into the meters that asked for them. */
export function takeOtherDays({ meters }: Book, { subjects }: OtherDays, rows: readonly Row[]): void {
  const bySubject = Map.groupBy(rows, (row) => String(row.subject))
  for (const subject of subjects) {
    const meter = meters.get(subject)
    if (meter) setOtherDays(meter, (bySubject.get(subject) ?? []).map(dayOf))
  }
}

/** The meters of these subjects in the windows of a day, as limits see them. */
export async function metersOn(db: Db, subjects: readonly string[], day: string): Promise<Meter[]> {
  if (subjects.length === 0) return []
  const { from, to } = daysAround([day])
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
  return subjects.map((subject) => {
    const own = bySubject.get(subject) ?? []
    const meter = own[0] ? meterOf({ ...own[0] }) : newMeter(subject)
    const others = own.filter(({ other_day }) => other_day !== null)
    setOtherDays(
      meter,
      others.map((row) => dayOf({ ...row, day: row.other_day })),
    )
    moveTo(meter, day)
    return meter
  })
}

import type { Db } from '../platform/db/db.ts'
import type { LimitReset } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { utcDay, utcMonthStart, utcWeekStart } from '../platform/time/time.ts'
import { addToCounter, type Meter, moveToDay, newMeter } from './meter.ts'
import { toMeterRow } from './tables.ts'

export interface OpeningSpend {
  organizationId: string
  /** The meter, which must be new: one that a node has in memory must not change beneath it. */
  subject: string
  amount: bigint
  /** The part in the present window of a limit that resets; null if the limit does not reset. */
  window: { reset: LimitReset; amount: bigint } | null
}

/**
 * Begins a meter with what was spent elsewhere. Nothing is posted: no credits of the organization paid for it. Limits,
 * `usage` and `check.ts` count it; roll-ups, which have requests, do not.
 */
export async function openMeter(
  tx: Db,
  clock: Clock,
  { organizationId, subject, amount, window }: OpeningSpend,
): Promise<void> {
  if (amount === 0n) return
  const now = clock.now()
  const day = window && window.amount > 0n ? windowStarts[window.reset](now) : null
  const dayAmount = day === null ? 0n : (window?.amount ?? 0n)
  const meter = newMeter(subject)
  moveToDay(meter, utcDay(now))
  if (day !== null) addToCounter(meter, 'spent', day, dayAmount)
  meter.spent.total = amount
  await tx.insertInto('meters').values(toMeterRow(meter, null)).execute()
  await insertOtherDays(tx, meter)
  await tx
    .insertInto('opening_spend')
    .values({
      subject,
      organization_id: organizationId,
      amount_nanos: amount,
      day,
      day_nanos: dayAmount,
      created_at: isoNow(clock),
    })
    .execute()
}

/** The first day of the window of a limit. */
const windowStarts: Readonly<Record<LimitReset, (now: number) => string>> = {
  daily: utcDay,
  weekly: utcWeekStart,
  monthly: utcMonthStart,
}

async function insertOtherDays(tx: Db, { subject, changedDays }: Meter): Promise<void> {
  for (const [day, { spent }] of changedDays)
    await tx
      .insertInto('meter_days')
      .values({
        subject,
        day,
        spent_nanos: spent,
        byok_nanos: 0n,
        held_nanos: 0n,
        held_byok_nanos: 0n,
        free: 0,
      })
      .execute()
}

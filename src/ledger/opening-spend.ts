import { type Db, isPostgres } from '../platform/db/db.ts'
import type { LimitReset } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { utcDay, utcMonthStart, utcWeekStart } from '../platform/time/time.ts'
import { addToCounter, type Meter, moveToDay, newMeter } from './meter.ts'
import { decodeMeter, toMeterRow } from './tables.ts'

export interface OpeningSpend {
  organizationId: string
  /** The meter: one that a node has in memory must not change beneath it. */
  subject: string
  amount: bigint
  /** The part in the present window of a limit that resets; null if the limit does not reset. */
  window: { reset: LimitReset; amount: bigint } | null
}

/**
 * Begins a new meter with what was spent elsewhere. Nothing is posted: no credits of the organization paid for it. Limits,
 * `usage` and `check.ts` count it; roll-ups, which have requests, do not.
 */
export async function openMeter(
  tx: Db,
  clock: Clock,
  { organizationId, subject, amount, window }: OpeningSpend,
): Promise<void> {
  if (amount === 0n) return
  const now = clock.now()
  const { day, dayAmount } = resolveWindow(window, now)
  const meter = newMeter(subject)
  moveToDay(meter, utcDay(now))
  if (day !== null) addToCounter(meter, 'spent', day, dayAmount)
  meter.spent.total = amount
  await tx.insertInto('meters').values(toMeterRow(meter, null)).execute()
  await addOtherDays(tx, meter)
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

/** What was spent in a window counts on its first day. */
function resolveWindow(
  window: OpeningSpend['window'],
  now: number,
): { day: string | null; dayAmount: bigint } {
  if (!window || window.amount <= 0n) return { day: null, dayAmount: 0n }
  return { day: windowStarts[window.reset](now), dayAmount: window.amount }
}

/** The first day of the window of a limit. */
const windowStarts: Readonly<Record<LimitReset, (now: number) => string>> = {
  daily: utcDay,
  weekly: utcWeekStart,
  monthly: utcMonthStart,
}

/** Changes of other days are added to what they have. */
async function addOtherDays(tx: Db, { subject, changedDays }: Meter): Promise<void> {
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
      .onConflict((conflict) =>
        conflict.columns(['subject', 'day']).doUpdateSet((eb) => ({
          spent_nanos: eb('meter_days.spent_nanos', '+', eb.ref('excluded.spent_nanos')),
        })),
      )
      .execute()
}

/** What is stored of a subject; undefined if it had spent nothing. */
async function findOpening(db: Db, subject: string) {
  return db.selectFrom('opening_spend').selectAll().where('subject', '=', subject).executeTakeFirst()
}

/** Whether what was spent elsewhere is more than, or in another window than, what was imported. */
export async function isOpeningOutdated(db: Db, clock: Clock, opening: OpeningSpend): Promise<boolean> {
  const before = await findOpening(db, opening.subject)
  const { amount, day, dayAmount } = mergeOpening(before, opening, clock.now())
  return (
    amount !== (before?.amount_nanos ?? 0n) ||
    dayAmount !== (before?.day_nanos ?? 0n) ||
    day !== (before?.day ?? null)
  )
}

type StoredOpening = Awaited<ReturnType<typeof findOpening>>

/** The total never falls: a counter that began again elsewhere is that of a new window. */
function mergeOpening(before: StoredOpening, { amount, window }: OpeningSpend, now: number) {
  const previous = before?.amount_nanos ?? 0n
  return { amount: amount > previous ? amount : previous, ...resolveWindow(window, now) }
}

/**
 * Replaces what was spent elsewhere with what is spent there now: the meter changes by the difference. No other process
 * may have the meter in memory: PostgreSQL, where every transaction reads it, or SQLite without a server.
 */
export async function updateOpening(tx: Db, clock: Clock, opening: OpeningSpend): Promise<void> {
  const { subject, organizationId } = opening
  const now = clock.now()
  const meter = await lockMeter(tx, subject)
  const before = await findOpening(tx, subject)
  const { amount, day, dayAmount } = mergeOpening(before, opening, now)
  const difference = amount - (before?.amount_nanos ?? 0n)
  const total = meter.spent.total + difference
  moveToDay(meter, meter.day === '' ? utcDay(now) : meter.day)
  if (before?.day) addToCounter(meter, 'spent', before.day, -before.day_nanos)
  if (day !== null) addToCounter(meter, 'spent', day, dayAmount)
  meter.spent.total = total
  const { subject: _subject, used_at: _used, ...columns } = toMeterRow(meter, null)
  await tx.updateTable('meters').set(columns).where('subject', '=', subject).execute()
  await addOtherDays(tx, meter)
  const row = { amount_nanos: amount, day, day_nanos: dayAmount, created_at: isoNow(clock) }
  await tx
    .insertInto('opening_spend')
    .values({ subject, organization_id: organizationId, ...row })
    .onConflict((conflict) => conflict.column('subject').doUpdateSet(row))
    .execute()
}

/** The meter, in the windows in which it was left. */
async function lockMeter(tx: Db, subject: string): Promise<Meter> {
  await tx
    .insertInto('meters')
    .values(toMeterRow(newMeter(subject), null))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const rows = tx.selectFrom('meters').selectAll().where('subject', '=', subject)
  return decodeMeter({ ...(await (isPostgres(tx) ? rows.forUpdate() : rows).executeTakeFirstOrThrow()) })
}

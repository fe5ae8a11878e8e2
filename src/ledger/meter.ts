import { utcDay, utcMonthStart, utcWeekStart } from '../lib/time.ts'

const dayMs = 86_400_000
const minuteMs = 60_000

/** What limits look at. Days are UTC, weeks begin on Monday. */
export const windowNames = ['total', 'day', 'week', 'month'] as const
export type Window = (typeof windowNames)[number]

export type Sums = Record<Window, bigint>

/** What is counted in a meter: spent and held, from credits and at list prices with somebody's own key. */
export const sumNames = ['spent', 'byok', 'held', 'heldByok'] as const
export type SumName = (typeof sumNames)[number]

/** What counts in one day. */
export type DaySums = Record<SumName, bigint> & { free: number }

/**
 * What one subject has spent and has held. The sums of a window are those of the window that `day` is in; every
 * other day keeps its own, because a clock may go back to it.
 */
export interface Meter extends Record<SumName, Sums> {
  readonly subject: string
  day: string
  week: string
  month: string
  /** What counts in days other than `day`, as far as it was looked up. */
  otherDays: Map<string, DaySums>
  /** How they have changed since they were written. */
  changedDays: Map<string, DaySums>
  /** Requests to free variants. */
  minute: string
  freeMinute: number
  freeDay: number
}

export function newMeter(subject: string): Meter {
  return {
    subject,
    day: '',
    week: '',
    month: '',
    spent: noSums(),
    byok: noSums(),
    held: noSums(),
    heldByok: noSums(),
    otherDays: new Map(),
    changedDays: new Map(),
    minute: '',
    freeMinute: 0,
    freeDay: 0,
  }
}

function noSums(): Sums {
  return { total: 0n, day: 0n, week: 0n, month: 0n }
}

function noDay(): DaySums {
  return { spent: 0n, byok: 0n, held: 0n, heldByok: 0n, free: 0 }
}

interface Starts {
  week: string
  month: string
}

const known = new Map<string, Starts>()

/** The week and the month that a day is in. */
export function startsOf(day: string): Starts {
  const found = known.get(day)
  if (found) return found
  const time = Date.parse(`${day}T00:00:00Z`)
  const starts = { week: utcWeekStart(time), month: utcMonthStart(time) }
  if (known.size > 100) known.clear()
  known.set(day, starts)
  return starts
}

/** The days that share a week or a month with one of these. */
export function daysAround(days: readonly string[]): { from: string; to: string } {
  const from: string[] = []
  const to: string[] = []
  for (const day of days) {
    const { week, month } = startsOf(day)
    from.push(week, month)
    to.push(utcDay(Date.parse(week) + 6 * dayMs), `${month.slice(0, 8)}31`)
  }
  return { from: from.sort()[0] ?? '', to: to.sort().at(-1) ?? '' }
}

/** What was read of other days, and what has changed since. A day that comes more than once is summed. */
export function setOtherDays(meter: Meter, days: Iterable<[string, DaySums]>): void {
  meter.otherDays = new Map()
  for (const [day, sums] of days) addDay(meter.otherDays, day, sums, 1)
  for (const [day, change] of meter.changedDays) addDay(meter.otherDays, day, change, 1)
}

/** They are written: whoever needs them looks them up. */
export function forgetOtherDays(meter: Meter): void {
  meter.otherDays.clear()
  meter.changedDays.clear()
}

/**
 * Moves a meter to the windows of a day, a later or an earlier one. The days that share a week or a month with it
 * must have been looked up.
 */
export function moveTo(meter: Meter, day: string): void {
  if (day === meter.day) return
  if (meter.day !== '') addToOtherDay(meter, meter.day, currentDay(meter), 1)
  const current = { ...(meter.otherDays.get(day) ?? noDay()) }
  addToOtherDay(meter, day, current, -1)
  const { week, month } = startsOf(day)
  Object.assign(meter, { day, week, month, freeDay: current.free })
  for (const name of sumNames) {
    const own = current[name]
    Object.assign(meter[name], { day: own, week: own, month: own })
  }
  for (const [other, sums] of meter.otherDays) addToWindows(meter, other, sums)
}

function currentDay(meter: Meter): DaySums {
  const { spent, byok, held, heldByok, freeDay } = meter
  return { spent: spent.day, byok: byok.day, held: held.day, heldByok: heldByok.day, free: freeDay }
}

function addToWindows(meter: Meter, day: string, sums: DaySums): void {
  const { week, month } = startsOf(day)
  for (const name of sumNames) {
    if (week === meter.week) meter[name].week += sums[name]
    if (month === meter.month) meter[name].month += sums[name]
  }
}

/** Adds what belongs to a day to that day, and to the windows of the meter that the day is in. */
export function addTo(meter: Meter, name: SumName, day: string, amount: bigint): void {
  if (amount === 0n) return
  const sums = meter[name]
  sums.total += amount
  if (day === meter.day) sums.day += amount
  else addToOtherDay(meter, day, { ...noDay(), [name]: amount }, 1)
  const { week, month } = startsOf(day)
  if (week === meter.week) sums.week += amount
  if (month === meter.month) sums.month += amount
}

function addToOtherDay(meter: Meter, day: string, change: DaySums, sign: 1 | -1): void {
  if (change.free === 0 && sumNames.every((name) => change[name] === 0n)) return
  addDay(meter.otherDays, day, change, sign)
  addDay(meter.changedDays, day, change, sign)
}

function addDay(days: Map<string, DaySums>, day: string, change: DaySums, sign: 1 | -1): void {
  const sums = { ...(days.get(day) ?? noDay()) }
  for (const name of sumNames) sums[name] += BigInt(sign) * change[name]
  sums.free += sign * change.free
  days.set(day, sums)
}

/** Requests to free variants in a minute. */
export function freeInMinute(meter: Meter, minute: string): number {
  return isSameMinute(meter, minute) ? meter.freeMinute : 0
}

/** Of nodes whose clocks are a little apart, the one behind counts in the minute of the other. */
export function isSameMinute(meter: Meter, minute: string): boolean {
  return minute <= meter.minute && Date.parse(`${meter.minute}Z`) - Date.parse(`${minute}Z`) <= minuteMs
}

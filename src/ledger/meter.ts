import { utcDay, utcMonthStart, utcWeekStart } from '../platform/time/time.ts'

const dayMs = 86_400_000
const minuteMs = 60_000

/** The windows of limits. Days are UTC, weeks begin on Monday. */
export const windowNames = ['total', 'day', 'week', 'month'] as const
export type Window = (typeof windowNames)[number]

export type WindowTotals = Record<Window, bigint>

/** The counters of a meter: spent and held, charged to credits and at list prices with BYOK keys. */
export const counterNames = ['spent', 'byok', 'held', 'heldByok'] as const
export type CounterName = (typeof counterNames)[number]

/** The counters of one day. */
export type DayTotals = Record<CounterName, bigint> & { free: number }

/**
 * The spent and held totals of one subject. The totals of a window are those of the window that contains `day`; every
 * other day has totals of its own, because a clock may go back to it.
 */
export interface Meter extends Record<CounterName, WindowTotals> {
  readonly subject: string
  day: string
  week: string
  month: string
  /** Totals of days other than `day`, as far as they were loaded. */
  otherDays: Map<string, DayTotals>
  /** Changes of other days since they were written. */
  changedDays: Map<string, DayTotals>
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
    spent: newWindowTotals(),
    byok: newWindowTotals(),
    held: newWindowTotals(),
    heldByok: newWindowTotals(),
    otherDays: new Map(),
    changedDays: new Map(),
    minute: '',
    freeMinute: 0,
    freeDay: 0,
  }
}

function newWindowTotals(): WindowTotals {
  return { total: 0n, day: 0n, week: 0n, month: 0n }
}

function newDayTotals(): DayTotals {
  return { spent: 0n, byok: 0n, held: 0n, heldByok: 0n, free: 0 }
}

interface WindowStarts {
  week: string
  month: string
}

const startsCache = new Map<string, WindowStarts>()

/** The week and the month that a day is in. */
export function windowStartsOf(day: string): WindowStarts {
  const cached = startsCache.get(day)
  if (cached) return cached
  const time = Date.parse(`${day}T00:00:00Z`)
  const starts = { week: utcWeekStart(time), month: utcMonthStart(time) }
  if (startsCache.size > 100) startsCache.clear()
  startsCache.set(day, starts)
  return starts
}

/** The days that share a week or a month with one of these. */
export function computeDayRange(days: readonly string[]): { from: string; to: string } {
  const from: string[] = []
  const to: string[] = []
  for (const day of days) {
    const { week, month } = windowStartsOf(day)
    from.push(week, month)
    to.push(utcDay(Date.parse(week) + 6 * dayMs), `${month.slice(0, 8)}31`)
  }
  return { from: from.sort()[0] ?? '', to: to.sort().at(-1) ?? '' }
}

/** Adds loaded totals of other days to what changed since. A day that occurs more than once is summed. */
export function setOtherDays(meter: Meter, days: Iterable<[string, DayTotals]>): void {
  meter.otherDays = new Map()
  for (const [day, totals] of days) addDayTotals(meter.otherDays, day, totals, 1)
  for (const [day, change] of meter.changedDays) addDayTotals(meter.otherDays, day, change, 1)
}

/** Removes other days, which are written, and loaded again when needed. */
export function clearOtherDays(meter: Meter): void {
  meter.otherDays.clear()
  meter.changedDays.clear()
}

/**
 * Moves a meter to the windows of a later or earlier day. The days that share a week or a month with it must
 * have been loaded.
 */
export function moveToDay(meter: Meter, day: string): void {
  if (day === meter.day) return
  if (meter.day !== '') addToOtherDay(meter, meter.day, currentDayOf(meter), 1)
  const current = { ...(meter.otherDays.get(day) ?? newDayTotals()) }
  addToOtherDay(meter, day, current, -1)
  const { week, month } = windowStartsOf(day)
  Object.assign(meter, { day, week, month, freeDay: current.free })
  for (const name of counterNames) {
    const amount = current[name]
    Object.assign(meter[name], { day: amount, week: amount, month: amount })
  }
  for (const [other, totals] of meter.otherDays) addToWindows(meter, other, totals)
}

function currentDayOf(meter: Meter): DayTotals {
  const { spent, byok, held, heldByok, freeDay } = meter
  return { spent: spent.day, byok: byok.day, held: held.day, heldByok: heldByok.day, free: freeDay }
}

function addToWindows(meter: Meter, day: string, totals: DayTotals): void {
  const { week, month } = windowStartsOf(day)
  for (const name of counterNames) {
    if (week === meter.week) meter[name].week += totals[name]
    if (month === meter.month) meter[name].month += totals[name]
  }
}

/** Adds an amount to its day, and to the windows of the meter that contain the day. */
export function addToCounter(meter: Meter, name: CounterName, day: string, amount: bigint): void {
  if (amount === 0n) return
  const totals = meter[name]
  totals.total += amount
  if (day === meter.day) {
    totals.day += amount
    totals.week += amount
    totals.month += amount
    return
  }
  addToOtherDay(meter, day, { ...newDayTotals(), [name]: amount }, 1)
  const { week, month } = windowStartsOf(day)
  if (week === meter.week) totals.week += amount
  if (month === meter.month) totals.month += amount
}

function addToOtherDay(meter: Meter, day: string, change: DayTotals, sign: 1 | -1): void {
  if (change.free === 0 && counterNames.every((name) => change[name] === 0n)) return
  addDayTotals(meter.otherDays, day, change, sign)
  addDayTotals(meter.changedDays, day, change, sign)
}

function addDayTotals(days: Map<string, DayTotals>, day: string, change: DayTotals, sign: 1 | -1): void {
  const totals = { ...(days.get(day) ?? newDayTotals()) }
  for (const name of counterNames) totals[name] += BigInt(sign) * change[name]
  totals.free += sign * change.free
  days.set(day, totals)
}

/** Requests to free variants in a minute. */
export function countFreeInMinute(meter: Meter, minute: string): number {
  return isSameMinute(meter, minute) ? meter.freeMinute : 0
}

/** Compares minutes. With clocks slightly apart, the node that is behind counts in the minute of the other. */
export function isSameMinute(meter: Meter, minute: string): boolean {
  return minute <= meter.minute && Date.parse(`${meter.minute}Z`) - Date.parse(`${minute}Z`) <= minuteMs
}

import { utcMonthStart, utcWeekStart } from '../lib/time.ts'

/** What limits look at. Days are UTC, weeks begin on Monday. */
export const windowNames = ['total', 'day', 'week', 'month'] as const
export type Window = (typeof windowNames)[number]

export type Sums = Record<Window, bigint>

/** What one subject has spent and has held. The sums of a window are those of the window it is in. */
export interface Meter {
  readonly subject: string
  day: string
  week: string
  month: string
  spent: Sums
  byok: Sums
  held: Sums
  heldByok: Sums
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
    minute: '',
    freeMinute: 0,
    freeDay: 0,
  }
}

function noSums(): Sums {
  return { total: 0n, day: 0n, week: 0n, month: 0n }
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

/** Moves a meter on to the windows of a day: what was counted in earlier ones no longer counts. Never back. */
export function rollTo(meter: Meter, day: string): void {
  if (day <= meter.day) return
  const { week, month } = startsOf(day)
  meter.day = day
  clear(meter, 'day')
  meter.freeDay = 0
  if (week > meter.week) {
    meter.week = week
    clear(meter, 'week')
  }
  if (month > meter.month) {
    meter.month = month
    clear(meter, 'month')
  }
}

function clear({ spent, byok, held, heldByok }: Meter, window: Window): void {
  spent[window] = 0n
  byok[window] = 0n
  held[window] = 0n
  heldByok[window] = 0n
}

/** Adds what belongs to a day to the windows of the meter that the day is in. */
export function addTo(sums: Sums, meter: Meter, day: string, amount: bigint): void {
  if (amount === 0n) return
  sums.total += amount
  if (day === meter.day) sums.day += amount
  const { week, month } = startsOf(day)
  if (week === meter.week) sums.week += amount
  if (month === meter.month) sums.month += amount
}

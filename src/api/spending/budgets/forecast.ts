import type { Window } from '../../../ledger/meter.ts'
import { utcDay, utcMonthStart, utcWeekStart } from '../../../platform/time/time.ts'

const dayMs = 86_400_000

/** The part of a window that must have passed: a few early requests say nothing about its end. */
const minPassedShare = 0.05

/** Finds the bounds of a window in milliseconds; null for a total, which has no end. */
export function findWindowBounds(window: Window, now: number): { start: number; end: number } | null {
  if (window === 'total') return null
  if (window === 'day') return boundsOf(utcDay(now), dayMs)
  if (window === 'week') return boundsOf(utcWeekStart(now), 7 * dayMs)
  const start = new Date(utcMonthStart(now))
  return { start: start.getTime(), end: Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1) }
}

function boundsOf(firstDay: string, length: number) {
  const start = Date.parse(firstDay)
  return { start, end: start + length }
}

/** Forecasts the spending at the end of the window from its average so far; null if it is too early. */
export function forecastSpend(window: Window, spent: bigint, now: number): bigint | null {
  const bounds = findWindowBounds(window, now)
  if (!bounds) return null
  const [passed, length] = [now - bounds.start, bounds.end - bounds.start]
  if (passed < length * minPassedShare) return null
  return (spent * BigInt(length)) / BigInt(Math.trunc(passed))
}

import type { WindowRule } from '../../cluster/cluster.ts'
import type { LimitWindow } from './limit-rule.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const weekMs = 7 * dayMs
/** The epoch was a Thursday. */
const mondayOffsetMs = 3 * dayMs
/** Longer than any month, and than any installation. */
const longestMonthMs = 31 * dayMs
const lifetimeMs = 36_500 * dayMs

/** Where a moment is in a window of a limit, as the cluster counts it. */
export interface WindowPosition {
  /** Distinguishes windows that the cluster cannot tell apart by their time. */
  name: string
  windowMs: number
  kind: WindowRule['kind']
  /** The moment, counted so that windows begin at multiples of their length. */
  now: number
  /** Milliseconds since the epoch. */
  start: number
  /** Null: it never ends. */
  end: number | null
}

export function locateInWindow(window: LimitWindow, now: number): WindowPosition {
  switch (window) {
    case 'second':
      return slide(1000, now)
    case 'minute':
      return slide(minuteMs, now)
    case 'hour':
      return slide(hourMs, now)
    case 'day': {
      const start = now - (now % dayMs)
      return { name: '', windowMs: dayMs, kind: 'fixed', now, start, end: start + dayMs }
    }
    case 'week': {
      const start = now - ((now + mondayOffsetMs) % weekMs)
      const shifted = now + mondayOffsetMs
      return { name: '', windowMs: weekMs, kind: 'fixed', now: shifted, start, end: start + weekMs }
    }
    case 'month': {
      const date = new Date(now)
      const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
      const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
      const name = date.toISOString().slice(0, 7)
      return { name, windowMs: longestMonthMs, kind: 'fixed', now: now - start, start, end }
    }
    case 'lifetime':
      return { name: '', windowMs: lifetimeMs, kind: 'fixed', now, start: 0, end: null }
  }
}

function slide(windowMs: number, now: number): WindowPosition {
  const start = now - (now % windowMs)
  return { name: '', windowMs, kind: 'sliding', now, start, end: start + windowMs }
}

/** Milliseconds until an amount probably fits again, if nothing else is counted meanwhile. */
export function estimateWait(
  { kind, windowMs, end }: WindowPosition,
  { limit, used, amount, now }: { limit: number; used: number; amount: number; now: number },
): number | null {
  if (end === null || amount > limit) return null
  const rest = Math.max(0, end - now)
  if (kind === 'fixed' || used === 0) return rest
  // What is counted now decays evenly during the next window.
  const share = Math.min(1, Math.max(0, 1 - (limit - amount) / used))
  return Math.round(rest + share * windowMs)
}

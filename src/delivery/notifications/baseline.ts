const hourMs = 3_600_000
const weekMs = 7 * 24 * hourMs

/** Length of the history that is read, and the minimum that there must be. */
export const historyMs = 4 * weekMs
const minHistoryMs = 2 * weekMs
/** An hour is unusual above this many times what is expected, and this many deviations above it. */
const minRatio = 3
const minDeviations = 6
/** Makes the median absolute deviation comparable with a standard deviation. */
const deviationScale = 1.4826

export interface HourSpend {
  /** The start of the hour. */
  at: number
  usd: number
}

export interface UnusualHour {
  usd: number
  expectedUsd: number
}

/**
 * Compares what a key spent in an hour with its own past; null if that is usual, or too little is known. Expected is the
 * larger of two medians: of this hour of the week (the largest of it and its neighbors, in each past week), and of
 * all hours in which the key spent something. So neither a weekly job nor a usual amount at an unusual time is reported.
 */
export function assessHour(current: HourSpend, history: readonly HourSpend[]): UnusualHour | null {
  const past = history.filter(({ at }) => at < current.at && at >= current.at - historyMs)
  const first = past.reduce((min, { at }) => Math.min(min, at), Number.POSITIVE_INFINITY)
  if (current.at - first < minHistoryMs) return null
  const byHour = new Map(past.map(({ at, usd }) => [at, usd]))
  const sameHours: number[] = []
  for (let at = current.at - weekMs; at >= first - hourMs; at -= weekMs)
    sameHours.push(Math.max(...[-hourMs, 0, hourMs].map((shift) => byHour.get(at + shift) ?? 0)))
  const active = past.map(({ usd }) => usd).filter((usd) => usd > 0)
  const references = [sameHours, active].map(describe).sort((a, b) => b.median - a.median)
  const [{ median, deviation } = { median: 0, deviation: 0 }] = references
  const isUnusual = current.usd > median * minRatio && current.usd > median + minDeviations * deviation
  return isUnusual ? { usd: current.usd, expectedUsd: median } : null
}

function describe(values: readonly number[]): { median: number; deviation: number } {
  const median = medianOf(values)
  return { median, deviation: deviationScale * medianOf(values.map((value) => Math.abs(value - median))) }
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}

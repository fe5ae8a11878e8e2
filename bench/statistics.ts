export interface Range {
  low: number
  high: number
}

/** The quantile of the values. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: number[]): number {
  return interpolate(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}

/** The middle half of the values. */
export function quartiles(values: number[]): Range {
  const sorted = values.toSorted((a, b) => a - b)
  return { low: interpolate(sorted, 0.25), high: interpolate(sorted, 0.75) }
}

function interpolate(sorted: number[], share: number): number {
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)] ?? Number.NaN
  const above = sorted[Math.ceil(at)] ?? Number.NaN
  return below + (above - below) * (at - Math.floor(at))
}

export interface Estimate {
  median: number
  /** Contains the true median with at least 95 % confidence; null with fewer than six values. */
  interval: Range | null
}

/** The interval of the sign test: it assumes no distribution, and a few bad blocks do not move it. */
export function estimateMedian(values: number[]): Estimate {
  const sorted = values.toSorted((a, b) => a - b)
  const outside = countOutside(sorted.length)
  const low = sorted[outside - 1]
  const high = sorted[sorted.length - outside]
  return {
    median: interpolate(sorted, 0.5),
    interval: low === undefined || high === undefined ? null : { low, high },
  }
}

/** Counts the values at each end such that all lie on one side of the median in at most 2.5 % of cases. */
function countOutside(count: number): number {
  let likelihood = 0
  let ways = 1
  for (let below = 0; below < count; below++) {
    likelihood += ways / 2 ** count
    if (likelihood > 0.025) return below
    ways = (ways * (count - below)) / (below + 1)
  }
  return 0
}

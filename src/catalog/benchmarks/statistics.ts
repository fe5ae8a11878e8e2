/** Recent values are compared with the first 21 of 32 days. */
export const windowDays = 32
export const baselineDays = 21
/** Tasks that make an accuracy significant; with fewer, it does not influence routing. */
export const minTasks = 45
/** Fewer values have no meaningful deviation. */
const minBaselineValues = 3

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The standard deviation of a sample; null for fewer than two values. */
export function standardDeviation(values: readonly number[]): number | null {
  if (values.length < 2) return null
  const average = mean(values)
  return Math.sqrt(values.reduce((sum, value) => sum + (value - average) ** 2, 0) / (values.length - 1))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/**
 * The share of successes below which the recent `samples` are significantly worse than the baseline: its median minus
 * two standard deviations. The deviation is at least that of so few samples, or a perfect record would forbid a single
 * failure. Null when the baseline is too short.
 */
export function computeQualityFloor(baseline: readonly number[], samples: number): number | null {
  if (baseline.length < minBaselineValues) return null
  const expected = median(baseline)
  const share = (expected * samples + 1) / (samples + 2)
  const sampling = Math.sqrt((share * (1 - share)) / samples)
  return expected - 2 * Math.max(standardDeviation(baseline) ?? 0, sampling)
}

/** Weighted by the number of tasks. Null without values. */
export function weightedMean(
  items: readonly { value: number | null; weight: number | null }[],
): number | null {
  let sum = 0
  let total = 0
  for (const { value, weight } of items) {
    if (value === null) continue
    sum += value * (weight ?? 1)
    total += weight ?? 1
  }
  return total > 0 ? sum / total : null
}

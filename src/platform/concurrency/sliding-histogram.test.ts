import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Quantiles, SlidingHistogram } from './sliding-histogram.ts'

const slotMs = 30_000
const windowMs = 300_000

function createHistogram(values: readonly number[], at = 0): SlidingHistogram {
  const histogram = new SlidingHistogram(slotMs, 61)
  for (const value of values) histogram.add(at, value)
  return histogram
}

const shares: Record<keyof Quantiles, number> = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 }

describe('SlidingHistogram', () => {
  test('there are no quantiles without values', () => {
    expect(new SlidingHistogram(slotMs, 61).quantiles(0, windowMs)).toBeNull()
    expect(createHistogram([1]).quantiles(windowMs + slotMs, windowMs)).toBeNull()
  })

  test('each percentile is accurate to 5 %', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), { minLength: 1 }), (values) => {
        const sorted = values.toSorted((a, b) => a - b)
        const quantiles = createHistogram(values).quantiles(0, windowMs)
        return (Object.keys(shares) as (keyof Quantiles)[]).every((name) => {
          const exact = sorted[Math.ceil(shares[name] * sorted.length) - 1] ?? 0
          return Math.abs((quantiles?.[name] ?? 0) / exact - 1) < 0.05
        })
      }),
    )
  })

  test('values out of range count in the first or last bucket', () => {
    for (const value of [0, -1, Number.NaN, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      const { p50 = Number.NaN } = createHistogram([value]).quantiles(0, windowMs) ?? {}
      expect(Number.isFinite(p50)).toBe(true)
      expect(p50).toBeGreaterThan(0)
    }
  })

  test('counts for the whole window, wherever in a slot it began, and not a slot later', () => {
    for (const at of [600_000, 600_001, 629_999]) {
      const histogram = createHistogram([10], at)
      expect(histogram.quantiles(at + windowMs - 1, windowMs)).not.toBeNull()
      expect(histogram.quantiles(at + windowMs + slotMs, windowMs)).toBeNull()
    }
  })

  test('a reused slot starts empty', () => {
    const histogram = new SlidingHistogram(slotMs, 3)
    for (let count = 0; count < 10; count++) histogram.add(0, 1000)
    histogram.add(3 * slotMs, 1)
    expect(histogram.quantiles(3 * slotMs, 2 * slotMs)?.p99).toBeLessThan(1.1)
  })
})

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Quantiles, SlidingHistogram } from './sliding-histogram.ts'

const slotMs = 30_000
const windowMs = 300_000

function samplesOf(values: readonly number[], at = 0): SlidingHistogram {
  const samples = new SlidingHistogram(slotMs, 61)
  for (const value of values) samples.add(at, value)
  return samples
}

const shares: Record<keyof Quantiles, number> = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 }

describe('samples', () => {
  test('nothing is told from nothing', () => {
    expect(new SlidingHistogram(slotMs, 61).quantiles(0, windowMs)).toBeNull()
    expect(samplesOf([1]).quantiles(windowMs + slotMs, windowMs)).toBeNull()
  })

  test('each percentile is right to five parts in a hundred', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), { minLength: 1 }), (values) => {
        const sorted = values.toSorted((a, b) => a - b)
        const told = samplesOf(values).quantiles(0, windowMs)
        return (Object.keys(shares) as (keyof Quantiles)[]).every((name) => {
          const exact = sorted[Math.ceil(shares[name] * sorted.length) - 1] ?? 0
          return Math.abs((told?.[name] ?? 0) / exact - 1) < 0.05
        })
      }),
    )
  })

  test('what is smaller or larger than can be told apart is kept at the edge', () => {
    for (const value of [0, -1, Number.NaN, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      const { p50 = Number.NaN } = samplesOf([value]).quantiles(0, windowMs) ?? {}
      expect(Number.isFinite(p50)).toBe(true)
      expect(p50).toBeGreaterThan(0)
    }
  })

  test('remembers for the whole window, wherever in a slot it began, and forgets a slot later', () => {
    for (const at of [600_000, 600_001, 629_999]) {
      const samples = samplesOf([10], at)
      expect(samples.quantiles(at + windowMs - 1, windowMs)).not.toBeNull()
      expect(samples.quantiles(at + windowMs + slotMs, windowMs)).toBeNull()
    }
  })

  test('a slot that comes round again begins empty', () => {
    const samples = new SlidingHistogram(slotMs, 3)
    for (let count = 0; count < 10; count++) samples.add(0, 1000)
    samples.add(3 * slotMs, 1)
    expect(samples.quantiles(3 * slotMs, 2 * slotMs)?.p99).toBeLessThan(1.1)
  })
})

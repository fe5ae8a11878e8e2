import { describe, expect, test } from 'bun:test'
import {
  appendSamples,
  combineSamples,
  compareCheckouts,
  formatComparison,
  formatInterval,
} from './comparison.ts'
import type { Sample } from './measure.ts'
import { buildScenarios, quick } from './scenarios.ts'

const sample = (cpuMicrosPerUnit: number, disturbance = 0): Sample => ({
  requests: 10,
  cpuMicrosPerUnit,
  perSecond: 1,
  p50: 1,
  p99: 2,
  firstP50: 1,
  firstP99: 2,
  disturbance,
})
const small = buildScenarios(quick).filter(({ id }) => id === 'small')
const compare = (here: number[], there: number[], disturbance = 0) => {
  const blocks = (values: number[]) => values.map((value) => sample(value, disturbance))
  const samples = { small: { headgate: blocks(here), against: blocks(there) } }
  return compareCheckouts(samples, small)[0]!
}

describe('a comparison with another checkout', () => {
  test('sees a small change that every pair has, however much the machine varies between pairs', () => {
    const there = [100, 140, 90, 200, 120, 101, 99]
    const comparison = compare(
      there.map((value) => value * 0.98),
      there,
    )
    expect(comparison.change.median).toBeCloseTo(-2, 6)
    expect(comparison.pairs).toBe(7)
    expect(formatComparison(comparison)).toBe('better')
    expect(formatInterval(comparison.change.interval)).toBe('-2.0 % to -2.0 %')
  })

  test('sees none where the pairs disagree, and says when there are too few', () => {
    const there = [100, 100, 100, 100, 100, 100]
    expect(formatComparison(compare([95, 104, 99, 101, 97, 103], there))).toBe('no difference seen')
    expect(formatComparison(compare([103, 104, 102, 101, 107, 103], there))).toBe('worse')
    expect(formatComparison(compare([90, 91], there))).toBe('too few pairs to tell')
  })

  test('says when the machine was too busy to believe the verdict', () => {
    const there = [100, 100, 100, 100, 100, 100]
    const verdict = formatComparison(compare([103, 104, 102, 101, 107, 103], there, 0.4))
    expect(verdict).toBe('worse (busy machine!)')
  })

  test('makes one pair of each start: the median of its calm blocks', () => {
    const start = (...cpu: number[]) => ({
      small: { headgate: [...cpu.map((value) => sample(value)), sample(900, 1)] },
    })
    const first = combineSamples(start(10, 30, 20))
    const both = appendSamples(first, combineSamples(start(40)))
    expect(both.small?.headgate?.map((block) => [block.cpuMicrosPerUnit, block.requests])).toEqual([
      [20, 40],
      [40, 20],
    ])
  })
})

import { describe, expect, test } from 'bun:test'
import { buildResult, buildRun, buildSnapshot } from '../../../test/support/benchmarks.ts'
import type { BenchmarkResult } from './result.ts'

import { computeQualityFloor, median, standardDeviation } from './statistics.ts'

const snapshotOf = (...results: BenchmarkResult[]) => buildSnapshot(results)
const model = (slug: string) => ({ canonical_slug: slug })

describe('scores of models', () => {
  test('an index becomes a percentile among the measured models; equal ones share it', () => {
    const scores = [10, 40, 40, 70, 90].map((score, index) => buildResult({ model: `acme/${index}`, score }))
    const snapshot = snapshotOf(...scores)
    const coding = scores.map((_, index) => snapshot.scoresOf(model(`acme/${index}`)).coding)
    expect(coding).toEqual([0, 0.25, 0.25, 0.75, 1])
    expect(snapshot.scoresOf(model('acme/0')).intelligence).toBeNull()
    expect(snapshot.scoresOf(model('acme/unknown'))).toEqual({
      intelligence: null,
      coding: null,
      agentic: null,
      toolCalling: null,
    })
  })

  test('a single measured model is the best', () => {
    expect(snapshotOf(buildResult()).scoresOf(model('acme/large')).coding).toBe(1)
  })

  test('own benchmarks count where there is no index, weighted by tasks', () => {
    const own = { source: 'service', details: { task_type: 'coding' } } as const
    const snapshot = snapshotOf(
      buildResult({ ...own, benchmark: 'one', score: 1, tasks: 20 }),
      buildResult({ ...own, benchmark: 'two', score: 0.5, tasks: 60 }),
      buildRun({ score: 0.7 }),
    )
    expect(snapshot.scoresOf(model('acme/large'))).toEqual({
      intelligence: null,
      coding: 0.625,
      agentic: 0.7,
      toolCalling: 0.7,
    })
  })

  test('own benchmarks of fewer than 45 tasks do not count', () => {
    const coding = (tasks: number) =>
      snapshotOf(
        buildResult({ source: 'service', details: { task_type: 'coding' }, score: 1, tasks }),
      ).scoresOf(model('acme/large')).coding
    expect([coding(5), coding(44), coding(45)]).toEqual([null, null, 1])
  })
})

describe('runs', () => {
  test('runs within 32 days of the newest are combined, weighted by tasks', () => {
    const snapshot = snapshotOf(
      buildRun({ measuredAt: '2026-09-01T00:00:00.000Z', score: 0 }),
      buildRun({
        measuredAt: '2026-11-01T00:00:00.000Z',
        score: 0.6,
        tasks: 30,
        costNanos: 100n,
        latencyMs: 10,
      }),
      buildRun({ measuredAt: '2026-11-02T00:00:00.000Z', score: 0.8, tasks: 10, costNanos: 500n }),
    )
    expect(snapshot.results).toHaveLength(1)
    const [combined] = snapshot.results
    expect(combined?.score).toBeCloseTo(0.65)
    expect(combined?.deviation).toBeCloseTo(0.1414, 4)
    expect(combined).toMatchObject({ tasks: 40, costNanos: 200n, latencyMs: 10 })
    expect(combined?.measuredAt).toBe('2026-11-02T00:00:00.000Z')
  })

  test('a single run has its own deviation, and runs at single endpoints are not results of the model', () => {
    const snapshot = snapshotOf(buildRun({ deviation: 0.02 }), buildRun({ endpoint: 'beta', score: 0 }))
    expect(snapshot.results.map(({ deviation, score }) => [deviation, score])).toEqual([[0.02, 0.8]])
  })
})

test('the record of a model has its indices and its ranks among the models of the installation', () => {
  const website = { source: 'design-arena', benchmark: 'models/website', details: { win_rate: 60 } } as const
  const snapshot = snapshotOf(
    buildResult({ score: 51.5 }),
    buildResult({ ...website, model: 'acme/large', score: 1200 }),
    buildResult({ ...website, model: 'acme/small', score: 1300 }),
    buildResult({ ...website, model: 'acme/tiny', score: 1200 }),
  )
  expect(snapshot.findModelBenchmarks(model('acme/large'))).toEqual({
    artificial_analysis: { agentic_index: null, coding_index: 51.5, intelligence_index: null },
    design_arena: [{ arena: 'models', category: 'website', elo: 1200, rank: 2, win_rate: 60 }],
  })
  expect(snapshot.findModelBenchmarks(model('acme/tiny'))?.design_arena[0]?.rank).toBe(2)
  expect(snapshot.findModelBenchmarks(model('acme/other'))).toBeUndefined()
})

describe('quality of endpoints', () => {
  const dayMs = 86_400_000
  const now = Date.parse('2026-11-16T00:00:00.000Z')
  const run = (endpoint: string, daysAgo: number, score: number, tasks = 50) =>
    buildRun({ endpoint, score, tasks, measuredAt: new Date(now - daysAgo * dayMs).toISOString() })
  const find = (endpoint: string, ...results: BenchmarkResult[]) =>
    snapshotOf(...results).endpointQualities.find(model('acme/large'), { tag: endpoint }, now)

  test('an endpoint is compared with the others of its model in each benchmark', () => {
    const results = [run('alpha', 1, 0.9), run('beta', 2, 0.7)]
    expect(find('alpha', ...results)?.relative).toBeCloseTo(0.1)
    expect(find('beta', ...results)?.relative).toBeCloseTo(-0.1)
    expect(find('gamma', ...results)).toBeNull()
  })

  test('fewer than 45 tasks in 32 days do not count', () => {
    expect(find('alpha', run('alpha', 1, 0.9, 44))).toBeNull()
    expect(find('alpha', run('alpha', 1, 0.9, 44), run('alpha', 3, 0.9, 1))?.relative).toBe(0)
    expect(find('alpha', run('alpha', 33, 0.9, 100))).toBeNull()
  })

  test('recent runs two deviations below the median of the first 21 days degrade an endpoint', () => {
    const baseline = [31, 25, 20, 15].map((days, index) => run('alpha', days, 0.8 + index / 100, 400))
    expect(find('alpha', ...baseline, run('alpha', 1, 0.6, 400))?.isDegraded).toBe(true)
    expect(find('alpha', ...baseline, run('alpha', 1, 0.79, 400))?.isDegraded).toBe(false)
    // So few tasks may differ by chance.
    expect(find('alpha', ...baseline, run('alpha', 1, 0.72, 45))?.isDegraded).toBe(false)
  })
})

test('the floor is the median minus two deviations, and at least that of the sample', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 2, 3])).toBe(2.5)
  expect(standardDeviation([1, 3])).toBeCloseTo(Math.SQRT2)
  expect(standardDeviation([1])).toBeNull()
  expect(computeQualityFloor([0.9, 0.95], 100)).toBeNull()
  expect(computeQualityFloor([0.5, 0.7, 0.9], 1e9)).toBeCloseTo(0.3)
  expect(computeQualityFloor([1, 1, 1], 50)).toBeCloseTo(1 - 2 * Math.sqrt(((51 / 52) * (1 / 52)) / 50))
})

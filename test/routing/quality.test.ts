import { describe, expect, test } from 'bun:test'
import type { BenchmarkResult } from '../../src/catalog/benchmarks/result.ts'
import { planRoute } from '../../src/inference/plan/plan.ts'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { buildRun, buildSnapshot } from '../support/benchmarks.ts'
import { buildFakeCatalog, buildFakeGateway, buildFakeRequest } from '../support/fake-routing.ts'
import { type EndpointBehavior, type SimulatedResult, Simulation } from './simulation.ts'

const dayMs = 86_400_000
const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }]
const catalog = buildFakeCatalog([
  {
    id: 'acme/large',
    endpoints: [
      { provider: 'alpha', price: 1 },
      { provider: 'beta', price: 1 },
      { provider: 'gamma', price: 4 },
    ],
  },
  { id: 'acme/other', endpoints: [{ provider: 'delta', price: 1 }] },
])

const shareOf = (results: SimulatedResult[], endpointId: string) =>
  results.filter((result) => result.endpointId === endpointId).length / results.length

describe('tool calls over 32 days', () => {
  const replies = 300
  /** Alpha's calls are invalid more often from one day to another; every other endpoint is as good as always. */
  const behavior =
    (from: number, to: number): EndpointBehavior =>
    ({ endpoint }, now, random) => {
      const day = (now - 1_800_000_000_500) / dayMs
      const isWorse = endpoint.tag === 'alpha' && day >= from && day < to
      return {
        firstTokenMs: 10,
        tokens: 10,
        tokensPerSecond: 100,
        areToolCallsValid: random() < (isWorse ? 0.955 : 0.995),
      }
    }
  const runDays = async (simulation: Simulation, days: number, body: JsonObject) => {
    const first = simulation.results.length
    await simulation.run(() =>
      simulation.sendMany(
        replies * days,
        () => dayMs / replies,
        () => ({ model: 'acme/large', ...body }),
      ),
    )
    return simulation.results.slice(first)
  }

  test('an endpoint that became worse than in the first 21 days ranks behind the others, and recovers', async () => {
    const simulation = new Simulation(catalog, behavior(32, 34), 5)
    const before = await runDays(simulation, 32, { tools })
    expect(shareOf(before, 'acme/large alpha')).toBeGreaterThan(0.35)
    // Less than five points below the best endpoint: only its own history shows it.
    const during = await runDays(simulation, 2, { tools })
    const last = during.slice(-replies)
    expect(shareOf(last, 'acme/large alpha')).toBeLessThan(0.2)
    const deranked = last.filter(({ attempts }) => attempts[0]?.id === 'acme/large beta')
    expect(deranked.length).toBeGreaterThan(replies / 2)
    // Without traffic the bad day is forgotten, and the endpoint is tried again.
    const after = (await runDays(simulation, 3, { tools })).slice(-replies)
    expect(shareOf(after, 'acme/large alpha')).toBeGreaterThan(0.35)
  })

  test('requests without tools, and those sorted by price, are not affected', async () => {
    const simulation = new Simulation(catalog, behavior(32, 100), 6)
    await runDays(simulation, 34, { tools })
    const plain = await runDays(simulation, 1, {})
    expect(shareOf(plain, 'acme/large alpha')).toBeGreaterThan(0.35)
    const byPrice = await runDays(simulation, 1, { tools, provider: { sort: 'price' } })
    expect(shareOf(byPrice, 'acme/large alpha')).toBe(1)
  })
})

describe('benchmarks of endpoints', () => {
  const now = Date.parse('2026-11-16T00:00:00.000Z')
  const run = (endpoint: string, daysAgo: number, score: number, fields: Partial<BenchmarkResult> = {}) =>
    buildRun({
      ...{ endpoint, score, tasks: 400, measuredAt: new Date(now - daysAgo * dayMs).toISOString() },
      ...fields,
    })
  const planWith = (results: BenchmarkResult[], body: JsonObject) => {
    const gateway = buildFakeGateway(catalog, { now: () => now }, () => 0)
    gateway.benchmarks.current = buildSnapshot(results)
    return planRoute(gateway, buildFakeRequest({ model: 'acme/large', ...body })).plan.candidates
  }
  const order = (results: BenchmarkResult[], body: JsonObject) =>
    planWith(results, body).map(({ endpoint }) => endpoint.tag)

  test.each([
    ['model', { model: 'acme/large:exacto' }],
    ['sort', { provider: { sort: 'exacto' } }],
  ])(':exacto ranks by them, and an unknown endpoint is average: %s', (_name, body) => {
    const results = [run('alpha', 1, 0.6), run('gamma', 2, 0.9)]
    expect(order(results, body)).toEqual(['gamma', 'beta', 'alpha'])
    expect(order([], body)).toEqual(['alpha', 'beta', 'gamma'])
  })

  test('all models ranked together: that of the better one at tool use comes first', () => {
    const sort = { by: 'exacto', partition: 'none' }
    const body = { model: undefined, models: ['acme/large', 'acme/other'], provider: { sort } }
    const results = [run('', 1, 0.5), run('', 1, 0.9, { model: 'acme/other' })]
    expect(order(results, body)).toEqual(['delta', 'alpha', 'beta', 'gamma'])
  })

  test('requests with tools avoid an endpoint that became significantly worse', () => {
    const baseline = [30, 25, 20, 15].flatMap((days) => [run('alpha', days, 0.8), run('beta', days, 0.81)])
    const results = [...baseline, run('alpha', 1, 0.6), run('beta', 1, 0.8)]
    expect(order(results, { tools })).toEqual(['beta', 'gamma', 'alpha'])
    expect(planWith(results, { tools }).at(-1)?.why).toBe('poor_tool_calls')
    expect(order(results, {})).toEqual(['alpha', 'beta', 'gamma'])
    expect(order(baseline, { tools })).toEqual(['alpha', 'beta', 'gamma'])
  })
})

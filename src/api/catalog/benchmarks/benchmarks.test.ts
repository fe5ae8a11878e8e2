import { beforeAll, describe, expect, test } from 'bun:test'
import { buildResult, buildRun } from '../../../../test/support/benchmarks.ts'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { saveResults } from '../../../catalog/benchmarks/store.ts'
import { MinuteRateLimiter } from '../../../platform/concurrency/rate-limiter.ts'

const arena = { source: 'design-arena', details: { win_rate: 61.5 }, latencyMs: 92_000 } as const
const search = (engine: string, surface: 'server-tool' | 'plugin', score: number) =>
  buildRun({
    benchmark: 'search_browsecomp',
    variant: `${engine} ${surface}`,
    model: 'sandbox/echo',
    score,
    latencyMs: 1500,
    details: {
      search_engine: engine,
      search_surface: surface,
      primary_metric: 'accuracy',
      run_config: { max_agent_turns: 20, reasoning_effort: 'high', temperature: null },
    },
  })

const results = [
  buildResult({ model: 'sandbox/echo', displayName: 'Echo', benchmark: 'intelligence', score: 40 }),
  buildResult({ model: 'sandbox/echo', displayName: 'Echo', benchmark: 'coding', score: 30 }),
  buildResult({ model: 'sandbox/reasoner', displayName: 'Reasoner', benchmark: 'intelligence', score: 55 }),
  buildResult({ model: 'gone/model', displayName: 'Gone', benchmark: 'agentic', score: 10 }),
  buildResult({ ...arena, model: 'sandbox/echo', benchmark: 'models/website', score: 1250 }),
  buildResult({ ...arena, model: 'sandbox/echo', benchmark: 'models/codecategories', score: 1300 }),
  buildResult({ ...arena, model: 'sandbox/reasoner', benchmark: 'agents/webapps', score: 1400 }),
  buildRun({
    model: 'sandbox/echo',
    benchmark: 'gpqa_diamond',
    score: 0.5,
    tasks: 10,
    costNanos: 1_500_000n,
  }),
  buildRun({
    ...{ model: 'sandbox/echo', benchmark: 'gpqa_diamond', score: 0.7, tasks: 10, costNanos: 500_000n },
    measuredAt: '2026-11-03T00:00:00.000Z',
  }),
  buildRun({ model: 'sandbox/reasoner' }),
  buildRun({ model: 'sandbox/reasoner', endpoint: 'sandbox', score: 0.1 }),
  buildRun({ model: 'sandbox/echo', benchmark: 'arithmetic', details: { task_type: 'coding' } }),
  search('exa', 'plugin', 0.4),
  search('native', 'server-tool', 0.6),
]

describeOnEachDatabase('GET /benchmarks', (server) => {
  beforeAll(async () => {
    const { db, benchmarks } = server().gateway
    await saveResults(db, results)
    await benchmarks.poll(db)
  })
  const call = (query: string) => {
    Object.assign(server().gateway, { rateLimiter: new MinuteRateLimiter() })
    return server().call('GET', `/benchmarks?${query}`, { key: server().own.inferenceKey })
  }
  const list = async (query: string): Promise<string[]> => {
    const { status, body } = await call(query)
    expect(status).toBe(200)
    return body.data.map((item: Record<string, unknown>) =>
      [item.source, item.model_permaslug, item.category ?? item.benchmark_type, item.search_engine]
        .filter((part) => part !== undefined)
        .join(' '),
    )
  }

  test('items have the fields of their source', async () => {
    const { body } = await call('')
    const price = { prompt: '0.000001', completion: '0.000002' }
    const find = (fields: object) => body.data.find((item: object) => Bun.deepMatch(fields, item))
    expect(find({ source: 'artificial-analysis', model_permaslug: 'sandbox/echo' })).toEqual({
      agentic_index: null,
      coding_index: 30,
      intelligence_index: 40,
      display_name: 'Echo',
      model_permaslug: 'sandbox/echo',
      pricing: price,
      source: 'artificial-analysis',
    })
    expect(find({ model_permaslug: 'gone/model' }).pricing).toBeNull()
    expect(find({ category: 'website' })).toEqual({
      arena: 'models',
      category: 'website',
      avg_generation_time_ms: 92_000,
      display_name: 'Large',
      elo: 1250,
      win_rate: 61.5,
      model_permaslug: 'sandbox/echo',
      pricing: price,
      tournament_stats: {
        first_place: null,
        second_place: null,
        third_place: null,
        fourth_place: null,
        total: null,
      },
      source: 'design-arena',
    })
    const gpqa = find({ benchmark_type: 'gpqa_diamond' })
    expect(gpqa.accuracy).toBeCloseTo(0.6)
    expect(gpqa.accuracy_stddev).toBeCloseTo(0.1414, 3)
    expect(gpqa).toMatchObject({ total_tasks: 20, last_run_timestamp: '2026-11-03T00:00:00.000Z' })
    expect(gpqa.avg_cost_per_task).toBe(0.001)
    expect(find({ search_engine: 'exa' })).toEqual({
      avg_cost_per_task: null,
      avg_latency_per_task_ms: 1500,
      benchmark_type: 'search_browsecomp',
      display_name: 'Large',
      last_run_timestamp: '2026-11-01T00:00:00.000Z',
      model_permaslug: 'sandbox/echo',
      primary_metric: 'accuracy',
      primary_score: 0.4,
      search_engine: 'exa',
      search_surface: 'plugin',
      source: 'service',
      total_tasks: 50,
    })
  })

  test.each([
    [
      'source=artificial-analysis',
      [
        'artificial-analysis sandbox/reasoner',
        'artificial-analysis sandbox/echo',
        'artificial-analysis gone/model',
      ],
    ],
    ['source=artificial-analysis&task_type=coding', ['artificial-analysis sandbox/echo']],
    ['source=artificial-analysis&task_type=agentic', ['artificial-analysis gone/model']],
    [
      'source=design-arena',
      ['design-arena sandbox/echo codecategories', 'design-arena sandbox/echo website'],
    ],
    ['source=design-arena&arena=agents', ['design-arena sandbox/reasoner webapps']],
    ['source=design-arena&arena=builders', []],
    ['source=design-arena&category=website', ['design-arena sandbox/echo website']],
    ['source=design-arena&task_type=coding', ['design-arena sandbox/echo codecategories']],
    ['source=design-arena&task_type=agentic', ['design-arena sandbox/reasoner webapps']],
    ['source=design-arena&task_type=intelligence', []],
    ['source=service&task_type=intelligence', ['service sandbox/echo gpqa_diamond']],
    ['source=service&benchmark_type=arithmetic', ['service sandbox/echo arithmetic']],
    [
      'task_type=search',
      ['service sandbox/echo search_browsecomp native', 'service sandbox/echo search_browsecomp exa'],
    ],
    ['search_engine=exa', ['service sandbox/echo search_browsecomp exa']],
    ['search_surface=server-tool', ['service sandbox/echo search_browsecomp native']],
    ['benchmark_type=search_hle', []],
    [
      'benchmark_type=gpqa_diamond&category=website',
      [
        'artificial-analysis sandbox/reasoner',
        'artificial-analysis sandbox/echo',
        'artificial-analysis gone/model',
        'design-arena sandbox/echo website',
        'service sandbox/echo gpqa_diamond',
      ],
    ],
    ['max_results=1', ['artificial-analysis sandbox/reasoner']],
  ])('%s', async (query, expected) => {
    expect(await list(query)).toEqual(expected)
  })

  test('without parameters the results of all sources are listed', async () => {
    const all = await list('')
    expect(all).toHaveLength(11)
    expect(new Set(all.map((line) => line.split(' ')[0]))).toEqual(
      new Set(['artificial-analysis', 'design-arena', 'service']),
    )
  })

  test('the configuration of search runs is included on request', async () => {
    const { body } = await call('task_type=search&include_run_config=true')
    expect(body.data[0].run_config).toEqual({
      max_agent_turns: 20,
      reasoning_effort: 'high',
      temperature: null,
    })
  })

  test('meta describes what is returned', async () => {
    expect((await call('')).body.meta).toEqual({
      as_of: '2026-11-03T00:00:00.000Z',
      citation: null,
      model_count: 3,
      source: null,
      source_url: null,
      task_type: null,
      version: 'v1',
    })
    expect((await call('source=artificial-analysis&task_type=coding')).body.meta).toEqual({
      as_of: '2026-11-01T00:00:00.000Z',
      citation: 'Artificial Analysis (https://artificialanalysis.ai)',
      model_count: 1,
      source: 'artificial-analysis',
      source_url: 'https://artificialanalysis.ai',
      task_type: 'coding',
      version: 'v1',
    })
    const { meta } = (await call('source=design-arena&arena=builders')).body
    expect(meta).toMatchObject({ model_count: 0, citation: 'Design Arena (https://www.designarena.ai)' })
  })

  test.each([
    ['source=elsewhere', 'source'],
    ['task_type=poetry', 'task_type'],
    ['benchmark_type=unheard_of', 'benchmark_type'],
    ['include_run_config=maybe', 'include_run_config'],
    ['search_surface=window', 'search_surface'],
    ['arena=gladiators', 'arena'],
    ['max_results=0', 'max_results'],
    ['max_results=1.5', 'max_results'],
    ['source=design-arena&task_type=search', 'task_type'],
    ['source=artificial-analysis&benchmark_type=gpqa_diamond', 'benchmark_type'],
    ['source=artificial-analysis&search_engine=exa', 'search_engine'],
    ['source=design-arena&include_run_config=true', 'include_run_config'],
    ['task_type=coding&search_engine=exa', 'search_engine'],
    ['task_type=coding&benchmark_type=gpqa_diamond', 'benchmark_type'],
    ['benchmark_type=gpqa_diamond&include_run_config=true', 'include_run_config'],
    ['source=service&arena=models', 'arena'],
    ['task_type=search&category=website', 'category'],
  ])('400 naming the field: %s', async (query, field) => {
    const { status, body } = await call(query)
    expect(status).toBe(400)
    expect(body.error.message).toStartWith(`${field}`)
  })

  describe('limits', () => {
    test('30 requests per minute with one key', async () => {
      const { clock, own, foreign } = server()
      clock.freeze('2028-02-01T10:00:00.000Z')
      Object.assign(server().gateway, { rateLimiter: new MinuteRateLimiter() })
      const send = (key: string) => server().call('GET', '/benchmarks', { key })
      for (let count = 0; count < 30; count++) expect((await send(own.inferenceKey)).status).toBe(200)
      const limited = await send(own.inferenceKey)
      expect([limited.status, limited.headers.get('x-ratelimit-limit')]).toEqual([429, '30'])
      expect((await send(foreign.inferenceKey)).status).toBe(200)
      clock.release()
    })
  })
})

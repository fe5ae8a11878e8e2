import { describe, expect, test } from 'bun:test'
import { buildFakeCatalog } from '../../../../test/support/fake-routing.ts'
import { findModel } from '../../lookup.ts'
import type { Model } from '../../model.ts'
import type { BenchmarkSource } from '../result.ts'
import { buildResults } from './build-results.ts'
import { parseCsv } from './csv.ts'
import { formatArena } from './design-arena.ts'
import { ModelMatcher } from './match-model.ts'
import { readBenchmarkFile } from './read-file.ts'

const endpoints = [{ provider: 'alpha', price: 1 }]
const catalog = buildFakeCatalog([
  { id: 'acme/large-4.5', endpoints },
  { id: 'acme/swift-nano-2', name: 'Acme: Swift Nano 2', endpoints },
  { id: 'acme/twin', endpoints },
  { id: 'other/twin', endpoints },
])
const options = {
  date: '2026-11-05T00:00:00.000Z',
  sourceUrl: 'https://a.example/',
  importedAt: '2026-11-06T00:00:00.000Z',
}

function load(text: string, source: BenchmarkSource, arena = {}, chosen = new Map<string, Model>()) {
  return buildResults(readBenchmarkFile(text, source, arena), new ModelMatcher(catalog, chosen), options)
}
const show = ({ results }: ReturnType<typeof load>) =>
  results.map(({ model, benchmark, score }) => `${model} ${benchmark} ${score}`)

describe('Artificial Analysis', () => {
  const entry = (
    name: string,
    slug: string,
    indices: (number | null)[],
    creator: unknown = { slug: 'acme' },
  ) => ({
    id: 'c0ffee',
    name,
    slug,
    model_creator: creator,
    evaluations: {
      artificial_analysis_intelligence_index: indices[0],
      artificial_analysis_coding_index: indices[1],
      artificial_analysis_agentic_index: indices[2],
      mmlu_pro: 0.8,
    },
    pricing: { price_1m_input_tokens: 3 },
  })
  const file = (...data: unknown[]) => JSON.stringify({ status: 200, data })

  test('its indices become scores; what was not measured is left out', () => {
    const loaded = load(file(entry('Large 4.5', 'large-4-5', [60.5, null, 30])), 'artificial-analysis')
    expect(loaded.results).toEqual([
      {
        source: 'artificial-analysis',
        benchmark: 'intelligence',
        model: 'acme/large-4.5',
        endpoint: '',
        variant: '',
        runId: '',
        displayName: 'Large 4.5',
        score: 60.5,
        deviation: null,
        costNanos: null,
        latencyMs: null,
        tasks: null,
        measuredAt: options.date,
        details: {},
        sourceUrl: options.sourceUrl,
        importedAt: options.importedAt,
      },
      expect.objectContaining({ benchmark: 'agentic', score: 30 }),
    ])
  })

  test('of several settings of a model the closest name counts, or else the highest score', () => {
    const settings = [
      entry('Swift Nano 2 (low)', 'swift-nano-2-low', [20, 1, 1]),
      entry('Swift Nano 2 (high)', 'swift-nano-2-high', [40, 2, 2]),
    ]
    const loaded = load(file(...settings), 'artificial-analysis')
    expect(show(loaded)[0]).toBe('acme/swift-nano-2 intelligence 40')
    expect(loaded.superseded).toEqual(['Swift Nano 2 (low)'])
    const exact = load(
      file(...settings, entry('Swift Nano 2', 'swift-nano-2', [10, 3, 3])),
      'artificial-analysis',
    )
    expect(show(exact)).toEqual([
      'acme/swift-nano-2 intelligence 10',
      'acme/swift-nano-2 coding 3',
      'acme/swift-nano-2 agentic 3',
    ])
  })

  test.each<[string, string, unknown, string | undefined]>([
    ['the words in another order', '4-5-large', null, 'acme/large-4.5'],
    ['the date of a release', 'large-4-5-20260901', null, 'acme/large-4.5'],
    ['a name of several models, with its author', 'twin', 'Other', 'other/twin'],
    ['a name of several models, with an unknown author', 'twin', { name: 'Nobody' }, undefined],
    ['part of a name', 'large', null, undefined],
    ['a longer name', 'large-4-5-coder', null, undefined],
  ])('%s', (_name, slug, creator, expected) => {
    const loaded = load(file(entry('Shown', slug, [1, null, null], creator)), 'artificial-analysis')
    expect(loaded.results[0]?.model).toBe(expected as string)
    expect(loaded.unmatched).toEqual(expected === undefined ? ['Shown'] : [])
  })

  test('the operator can say which model a name means', () => {
    const model = findModel(catalog, 'acme/twin')?.model
    const chosen = new Map(model ? [['The Twin', model]] : [])
    const text = file(entry('The Twin', 'unheard-of', [1, null, null]))
    expect(load(text, 'artificial-analysis', {}, chosen).results[0]?.model).toBe('acme/twin')
  })
})

describe('Design Arena', () => {
  const row = {
    displayName: 'Large',
    provider: 'acme',
    openRouterId: 'acme/large-4.5',
    winRate: 61.5,
    elo: 1301,
  }

  test('a leaderboard', () => {
    const text = JSON.stringify({
      success: true,
      data: [
        { ...row, avgGenerationTimeMs: 88_000 },
        {
          displayName: 'Builder',
          provider: 'else',
          openRouterId: null,
          winRate: 50,
          elo: 1200,
          avgGenerationTimeMs: null,
        },
      ],
      meta: {
        arena: 'Models Arena',
        category: 'Code Categories',
        lastUpdated: '2026-11-01T04:00:06.216429+00:00',
      },
    })
    const loaded = load(text, 'design-arena')
    expect(loaded.unmatched).toEqual(['Builder'])
    expect(loaded.results).toEqual([
      expect.objectContaining({
        benchmark: 'models/codecategories',
        model: 'acme/large-4.5',
        score: 1301,
        latencyMs: 88_000,
        details: { win_rate: 61.5 },
        measuredAt: '2026-11-01T04:00:06.216Z',
      }),
    ])
  })

  test('the list of models with their rankings', () => {
    const { displayName, provider, openRouterId, ...ranking } = row
    const rankings = {
      models: { website: ranking, gamedev: ranking },
      agents: { webapps: { ...ranking, elo: 1000 } },
    }
    const text = JSON.stringify({ data: [{ id: 'x', displayName, provider, openRouterId, rankings }] })
    expect(show(load(text, 'design-arena'))).toEqual([
      'acme/large-4.5 models/website 1301',
      'acme/large-4.5 models/gamedev 1301',
      'acme/large-4.5 agents/webapps 1000',
    ])
  })

  test('a table, with the columns in any order and spelling', () => {
    const text =
      '\uFEFFModel,Win Rate,ELO,Category,arena,first_place,total\r\n"Large 4.5",61.5%,1301,website,models,3,9\r\n"Some ""other"", model",1,2,website,models,0,0\r\n'
    const loaded = load(text, 'design-arena')
    expect(loaded.unmatched).toEqual(['Some "other", model'])
    expect(loaded.results[0]?.details).toEqual({
      win_rate: 61.5,
      tournament_stats: {
        first_place: 3,
        second_place: null,
        third_place: null,
        fourth_place: null,
        total: 9,
      },
    })
  })

  test('a leaderboard without a name needs one', () => {
    const text = JSON.stringify([row])
    expect(() => load(text, 'design-arena')).toThrow('--arena and --category')
    const loaded = load(text, 'design-arena', { arena: 'models', category: 'website' })
    expect(show(loaded)).toEqual(['acme/large-4.5 models/website 1301'])
    expect(formatArena('Agents', 'Web Apps')).toBe('agents/webapps')
  })
})

describe('responses of GET /benchmarks', () => {
  const identity = { display_name: 'Large', model_permaslug: 'acme/large-4.5' }
  const run = {
    ...identity,
    last_run_timestamp: '2026-10-30T00:00:00Z',
    total_tasks: 60,
    avg_cost_per_task: 0.0000000015,
  }
  const text = JSON.stringify({
    data: [
      {
        ...identity,
        source: 'artificial-analysis',
        intelligence_index: 50,
        coding_index: null,
        agentic_index: 20,
        pricing: null,
      },
      { ...identity, source: 'design-arena', arena: 'models', category: 'website', elo: 1200, win_rate: 50 },
      { ...run, source: 'elsewhere', benchmark_type: 'gpqa_diamond', accuracy: 0.5, accuracy_stddev: 0.02 },
      {
        ...{
          ...run,
          source: 'elsewhere',
          benchmark_type: 'search_hle',
          primary_metric: 'accuracy',
          primary_score: 0.3,
        },
        ...{ search_engine: 'exa', search_surface: 'plugin', avg_latency_per_task_ms: 900 },
      },
    ],
    meta: { as_of: '2026-11-02T00:00:00Z', version: 'v1' },
  })

  test.each<[BenchmarkSource, string[]]>([
    ['artificial-analysis', ['acme/large-4.5 intelligence 50', 'acme/large-4.5 agentic 20']],
    ['design-arena', ['acme/large-4.5 models/website 1200']],
    ['service', ['acme/large-4.5 gpqa_diamond 0.5', 'acme/large-4.5 search_hle 0.3']],
  ])('the items of one source: %s', (source, expected) => {
    expect(show(load(text, source))).toEqual(expected)
  })

  test('dates, costs, deviations and search settings are kept', () => {
    const [gpqa, search] = load(text, 'service').results
    expect(gpqa).toMatchObject({
      deviation: 0.02,
      costNanos: 2n,
      tasks: 60,
      measuredAt: '2026-10-30T00:00:00.000Z',
    })
    expect(search).toMatchObject({ variant: 'exa plugin', latencyMs: 900, details: { search_engine: 'exa' } })
    expect(load(text, 'artificial-analysis').results[0]?.measuredAt).toBe('2026-11-02T00:00:00.000Z')
  })
})

test.each<[string, BenchmarkSource, string]>([
  ['{"data": [', 'service', 'not valid JSON'],
  ['{"data": [{"name": "x"}]}', 'service', 'model_permaslug'],
  ['{"data": 5}', 'artificial-analysis', 'data'],
  ['{"data": [{"evaluations": {}}]}', 'artificial-analysis', 'data.0.name'],
  ['{"data": [{"displayName": "x", "elo": "high", "winRate": 1}]}', 'design-arena', 'data.0'],
  ['model,elo\nx', 'design-arena', 'Line 2 has 1 columns'],
  ['model,elo\nx,high', 'design-arena', '"high" is not a number'],
])('a file that cannot be read: %s', (text, source, message) => {
  expect(() => load(text, source)).toThrow(message)
})

test('CSV: quotes, line ends and empty cells', () => {
  expect(parseCsv('a,b\n"x\n""y""",\n,2')).toEqual([
    { a: 'x\n"y"', b: '' },
    { a: '', b: '2' },
  ])
  expect(() => parseCsv('a\n"x')).toThrow('not valid CSV')
})

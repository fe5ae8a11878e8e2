import { z } from 'zod'
import type { BenchmarkResult, IndexName } from '../../../catalog/benchmarks/result.ts'
import { parseArena, toIndices } from '../../../catalog/benchmarks/snapshot.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import { toPublicPricing } from '../../../catalog/model-record.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'

const pricing = z
  .strictObject({ completion: z.string(), prompt: z.string() })
  .nullable()
  .describe('USD per token in this installation; null if unknown')
  .meta({ id: 'UnifiedBenchmarkPricing' })
const count = z.int().nullable()
const identity = { display_name: z.string(), model_permaslug: z.string() }

const indexItem = z
  .strictObject({
    ...identity,
    agentic_index: z.number().nullable(),
    coding_index: z.number().nullable(),
    intelligence_index: z.number().nullable(),
    pricing,
    source: z.literal('artificial-analysis'),
  })
  .meta({ id: 'UnifiedBenchmarksAAItem' })

const arenaItem = z
  .strictObject({
    ...identity,
    arena: z.string(),
    category: z.string(),
    avg_generation_time_ms: z.number().nullable(),
    elo: z.number(),
    win_rate: z.number().describe('In percent'),
    tournament_stats: z.strictObject({
      first_place: count,
      second_place: count,
      third_place: count,
      fourth_place: count,
      total: count,
    }),
    pricing,
    source: z.literal('design-arena'),
  })
  .meta({ id: 'UnifiedBenchmarksDAItem' })

const runFields = {
  ...identity,
  benchmark_type: z.string(),
  avg_cost_per_task: z.number().nullable().describe('In USD'),
  last_run_timestamp: z.string(),
  total_tasks: z.int(),
  source: z.literal('service'),
}

const serviceItem = z
  .strictObject({
    ...runFields,
    accuracy: z.number().describe('From 0 to 1'),
    accuracy_stddev: z.number().nullable().describe('Of the accuracies of several runs; null for one'),
  })
  .meta({ id: 'UnifiedBenchmarksServiceItem' })

const searchItem = z
  .strictObject({
    ...runFields,
    avg_latency_per_task_ms: z.number().nullable(),
    primary_metric: z.enum(['accuracy', 'f1_by_item']),
    primary_score: z.number(),
    run_config: z
      .strictObject({
        max_agent_turns: z.int().nullable(),
        reasoning_effort: z.string().nullable(),
        temperature: z.number().nullable(),
      })
      .optional(),
    search_engine: z.string(),
    search_surface: z.enum(['server-tool', 'plugin']),
  })
  .meta({ id: 'UnifiedBenchmarksSearchItem' })

export const benchmarkItem = z.union([indexItem, arenaItem, serviceItem, searchItem])

/** An item, with the results it shows. */
export interface ListedItem {
  item: z.input<typeof benchmarkItem>
  results: readonly BenchmarkResult[]
  /** Higher is better; compared with items of the same kind only. */
  rank: number
}

type Prices = Pick<Catalog, 'bySlug'>

/** The three indices of one model. */
export function toIndexItem(
  results: readonly [BenchmarkResult, ...BenchmarkResult[]],
  prices: Prices,
  index: IndexName,
): ListedItem {
  const [first] = results
  const indices = toIndices(results)
  return {
    item: {
      ...toIdentity(first),
      ...indices,
      pricing: findPricing(first, prices),
      source: 'artificial-analysis',
    },
    results,
    rank: indices[`${index}_index`] ?? -1,
  }
}

const noTournaments = {
  first_place: null,
  second_place: null,
  third_place: null,
  fourth_place: null,
  total: null,
}

export function toArenaItem(result: BenchmarkResult, prices: Prices): ListedItem {
  return {
    item: {
      ...toIdentity(result),
      ...parseArena(result),
      avg_generation_time_ms: result.latencyMs,
      elo: result.score,
      win_rate: result.details.win_rate ?? 0,
      tournament_stats: result.details.tournament_stats ?? noTournaments,
      pricing: findPricing(result, prices),
      source: 'design-arena',
    },
    results: [result],
    rank: result.score,
  }
}

export function toServiceItem(result: BenchmarkResult): ListedItem {
  return {
    item: { ...toRunFields(result), accuracy: result.score, accuracy_stddev: result.deviation },
    results: [result],
    rank: result.score,
  }
}

export function toSearchItem(result: BenchmarkResult, withRunConfig: boolean): ListedItem {
  const { details } = result
  return {
    item: {
      ...toRunFields(result),
      avg_latency_per_task_ms: result.latencyMs,
      primary_metric: details.primary_metric ?? 'accuracy',
      primary_score: result.score,
      ...(withRunConfig && details.run_config && { run_config: details.run_config }),
      search_engine: details.search_engine ?? '',
      search_surface: details.search_surface ?? 'server-tool',
    },
    results: [result],
    rank: result.score,
  }
}

function toRunFields(result: BenchmarkResult) {
  return {
    ...toIdentity(result),
    benchmark_type: result.benchmark,
    avg_cost_per_task: result.costNanos === null ? null : usdFromNanos(result.costNanos),
    last_run_timestamp: result.measuredAt,
    total_tasks: result.tasks ?? 0,
    source: 'service' as const,
  }
}

function toIdentity({ displayName, model }: BenchmarkResult) {
  return { display_name: displayName, model_permaslug: model }
}

function findPricing({ model }: BenchmarkResult, { bySlug }: Prices) {
  const endpoint = bySlug.get(model)?.top_endpoint
  if (!endpoint?.pricing) return null
  const { prompt, completion } = toPublicPricing(endpoint)
  return { completion, prompt }
}

import { z } from 'zod'
import type { Model } from '../../../catalog/model.ts'
import { computePricePerMillion, findIndex } from './filter.ts'
import type { LiveMetrics } from './live-metrics.ts'

const orderNames = [
  'most-popular',
  'newest',
  'top-weekly',
  'pricing-low-to-high',
  'pricing-high-to-low',
  'context-high-to-low',
  'throughput-high-to-low',
  'latency-low-to-high',
  'intelligence-high-to-low',
  'coding-high-to-low',
  'agentic-high-to-low',
  'design-arena-elo-high-to-low',
] as const
type OrderName = (typeof orderNames)[number]

type SortKey = (model: Model, metrics: LiveMetrics) => number | undefined

/** Sort key of an order without data, which changes nothing. */
const noSortKey: SortKey = () => undefined

const totalPrice: SortKey = (model) => {
  const prompt = computePricePerMillion(model, 'prompt')
  const completion = computePricePerMillion(model, 'completion')
  return prompt === undefined || completion === undefined ? undefined : prompt + completion
}

/** The best rating in the arena of models. */
const findElo: SortKey = (model, { findBenchmarks }) => {
  const ratings = findBenchmarks(model)?.design_arena.filter(({ arena }) => arena === 'models') ?? []
  return ratings.length > 0 ? Math.max(...ratings.map(({ elo }) => elo)) : undefined
}

/** Sorted in ascending order. */
const sortKeys: Record<OrderName, SortKey> = {
  'most-popular': negateKey(noSortKey),
  newest: negateKey((model) => model.created || undefined),
  'top-weekly': negateKey(noSortKey),
  'pricing-low-to-high': totalPrice,
  'pricing-high-to-low': negateKey(totalPrice),
  'context-high-to-low': negateKey((model) => model.context_length ?? undefined),
  'throughput-high-to-low': negateKey((model, metrics) => metrics.getThroughput(model)),
  'latency-low-to-high': (model, metrics) => metrics.getLatency(model),
  'intelligence-high-to-low': negateKey((model, metrics) => findIndex(model, 'intelligence_index', metrics)),
  'coding-high-to-low': negateKey((model, metrics) => findIndex(model, 'coding_index', metrics)),
  'agentic-high-to-low': negateKey((model, metrics) => findIndex(model, 'agentic_index', metrics)),
  'design-arena-elo-high-to-low': negateKey(findElo),
}

export const orderQuery = z.enum(orderNames).optional()

export function sortModels(
  models: readonly Model[],
  name: OrderName | undefined,
  metrics: LiveMetrics,
): readonly Model[] {
  if (!name) return models
  const values = new Map(models.map((model) => [model, sortKeys[name](model, metrics)]))
  return models.toSorted((a, b) => compareUndefinedLast(values.get(a), values.get(b)))
}

function negateKey(sortKey: SortKey): SortKey {
  return (model, metrics) => {
    const value = sortKey(model, metrics)
    return value === undefined ? undefined : -value
  }
}

/** Unknown values come last in either direction. */
function compareUndefinedLast(a: number | undefined, b: number | undefined): number {
  if (a === b) return 0
  if (a === undefined) return 1
  return b === undefined ? -1 : a - b
}

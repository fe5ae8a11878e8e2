import type { Granularity, Group } from '../../../analytics/rollups/aggregator.ts'
import { type CountedGroup, type Metric, metricsByName, requestCount } from './metrics.ts'
import type { QueryBody } from './request.ts'

export interface GroupPage {
  groups: CountedGroup[]
  truncated: boolean
}

/** The groups of the result, in order. */
export function sortAndLimitGroups(groups: readonly CountedGroup[], body: QueryBody): GroupPage {
  const keyOf = createSortKey(body)
  const sign = body.order_by?.direction === 'asc' ? 1 : -1
  const keyed = groups.map((group) => ({ group, key: keyOf(group) }))
  const sorted = selectCandidates(keyed, body.limit, sign).sort(
    (a, b) => sign * compareNullable(a.key, b.key) || compareTies(a.group, b.group),
  )
  return {
    groups: sorted.slice(0, body.limit).map(({ group }) => group),
    truncated: groups.length > body.limit,
  }
}

interface KeyedGroup {
  group: CountedGroup
  key: string | number | null
}

/** Selects the groups that can be among the first `count`, with ties: sorting numbers is several times as fast. */
function selectCandidates(keyed: KeyedGroup[], count: number, sign: 1 | -1): KeyedGroup[] {
  if (keyed.length <= count || keyed.some(({ key }) => typeof key !== 'number')) return keyed
  const last = Float64Array.from(keyed, ({ key }) => sign * Number(key)).sort()[count - 1] ?? 0
  return keyed.filter(({ key }) => sign * Number(key) <= last)
}

/** Includes the metric of the order, which need not be requested. */
export function resolveMetrics({ metrics, order_by }: QueryBody): Metric[] {
  const names = new Set([...metrics, ...(order_by ? [order_by.field] : [])])
  return [...names].flatMap((name) => metricsByName.get(name) ?? [])
}

/** The largest groups; null if these are all. */
export function selectLargestGroups(
  groups: readonly CountedGroup[],
  body: QueryBody,
  max: number,
): CountedGroup[] | null {
  if (groups.length <= max) return null
  const rank = resolveRankingMetric(body)
  const keyed = groups.map((group) => ({ group, key: rank.value(group) ?? 0 }))
  return selectCandidates(keyed, max, -1)
    .sort((a, b) => -compareNullable(a.key, b.key) || compareTies(a.group, b.group))
    .slice(0, max)
    .map(({ group }) => group)
}

/** Resolves the metric that ranks groups: only one that adds up can. */
export function resolveRankingMetric(body: QueryBody): Metric {
  const [first] = [body.order_by?.field ?? '', ...body.metrics]
    .flatMap((name) => metricsByName.get(name) ?? [])
    .filter(({ isRate, measures, readsFailures }) => !isRate && (measures.length > 0 || readsFailures))
  return first ?? requestCount
}

function createSortKey(body: QueryBody): (group: CountedGroup) => string | number | null {
  const field = body.order_by?.field ?? resolveDefaultOrder(body)
  if (field === 'date') return (group) => group.bucket
  const index = (body.dimensions as string[]).indexOf(field)
  if (index >= 0) return (group) => group.values[index] ?? null
  const metric = metricsByName.get(field)
  return (group) => metric?.value(group) ?? null
}

/** Resolves the default order: newest first with a granularity, largest first without one. */
function resolveDefaultOrder({ granularity, dimensions, metrics }: QueryBody): string {
  if (granularity) return 'date'
  return dimensions.find((name) => name === 'generation_id') ?? metrics[0] ?? ''
}

function compareTies(a: Group, b: Group): number {
  return compareNullable(b.bucket, a.bucket) || compareGroupValues(a, b)
}

function compareGroupValues(a: Group, b: Group): number {
  for (let index = 0; index < a.values.length; index++) {
    const order = compareNullable(a.values[index] ?? null, b.values[index] ?? null)
    if (order !== 0) return order
  }
  return 0
}

/** Null sorts before everything else. */
function compareNullable(a: string | number | null, b: string | number | null): number {
  if (a === b) return 0
  if (a === null || b === null) return Number(a !== null) - Number(b !== null)
  return typeof a === 'number' && typeof b === 'number' ? a - b : compareTexts(String(a), String(b))
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Buckets of a day or longer are named by date, shorter ones by time. */
export function bucketFieldOf(grain: Granularity): string {
  return grain === 'minute' || grain === 'hour' ? `created_at__${grain}` : `date__${grain}`
}

import type { Grain, Group } from '../../ledger/rollups/tally.ts'
import { type Metric, metricsByName, requestCount } from './metrics.ts'
import type { QueryBody } from './request.ts'

export interface Cut {
  groups: Group[]
  truncated: boolean
}

/** The groups that are shown, in their order. */
export function shownGroups(groups: readonly Group[], body: QueryBody): Cut {
  const keyOf = sortKeyOf(body)
  const sign = body.order_by?.direction === 'asc' ? 1 : -1
  const sorted = groups
    .map((group) => ({ group, key: keyOf(group) }))
    .sort((a, b) => sign * compareNullable(a.key, b.key) || tieBreak(a.group, b.group))
  return {
    groups: sorted.slice(0, body.limit).map(({ group }) => group),
    truncated: sorted.length > body.limit,
  }
}

/** With the one they are ordered by, which need not be asked for. */
export function metricsOf({ metrics, order_by }: QueryBody): Metric[] {
  const names = new Set([...metrics, ...(order_by ? [order_by.field] : [])])
  return [...names].flatMap((name) => metricsByName.get(name) ?? [])
}

/** The largest groups; null when these are all. */
export function largest(groups: readonly Group[], body: QueryBody, most: number): Group[] | null {
  if (groups.length <= most) return null
  const rank = rankingOf(body)
  return groups
    .map((group) => ({ group, size: rank.value(group) ?? 0 }))
    .sort((a, b) => b.size - a.size || tieBreak(a.group, b.group))
    .slice(0, most)
    .map(({ group }) => group)
}

/** Only what adds up says how large a group is. */
export function rankingOf(body: QueryBody): Metric {
  const [first] = [body.order_by?.field ?? '', ...body.metrics]
    .flatMap((name) => metricsByName.get(name) ?? [])
    .filter((metric) => !metric.isRate && metric.measures.length > 0)
  return first ?? requestCount
}

function sortKeyOf(body: QueryBody): (group: Group) => string | number | null {
  const field = body.order_by?.field ?? defaultOrder(body)
  if (field === 'date') return (group) => group.bucket
  const place = (body.dimensions as string[]).indexOf(field)
  if (place >= 0) return (group) => group.values[place] ?? null
  const metric = metricsByName.get(field)
  return (group) => metric?.value(group) ?? null
}

/** Newest first where there is time, largest first where there is none. */
function defaultOrder({ granularity, dimensions, metrics }: QueryBody): string {
  if (granularity) return 'date'
  return dimensions.find((name) => name === 'generation_id') ?? metrics[0] ?? ''
}

function tieBreak(a: Group, b: Group): number {
  return compareNullable(b.bucket, a.bucket) || byValues(a, b)
}

function byValues(a: Group, b: Group): number {
  for (let index = 0; index < a.values.length; index++) {
    const order = compareNullable(a.values[index] ?? null, b.values[index] ?? null)
    if (order !== 0) return order
  }
  return 0
}

/** What is not there comes before everything else. */
function compareNullable(a: string | number | null, b: string | number | null): number {
  if (a === b) return 0
  if (a === null || b === null) return Number(a !== null) - Number(b !== null)
  return typeof a === 'number' && typeof b === 'number' ? a - b : compareTexts(String(a), String(b))
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Whole days and longer are named by their date, shorter buckets by their moment. */
export function bucketField(grain: Grain): string {
  return grain === 'minute' || grain === 'hour' ? `created_at__${grain}` : `date__${grain}`
}

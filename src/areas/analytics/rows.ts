import type { Grain, Group } from '../../ledger/rollups/tally.ts'
import { type Metric, metricsByName, requestCount } from './metrics.ts'
import type { QueryBody } from './request.ts'

export interface Row {
  bucket: string | null
  /** Of the dimensions, in their order. */
  values: readonly (string | null)[]
  metrics: Record<string, number | null>
}

export interface Cut {
  rows: Row[]
  truncated: boolean
}

/** The rows that are shown of the groups that were found. */
export function rowsOf(groups: readonly Group[], body: QueryBody): Cut {
  const asked = metricsOf(body)
  const rows = groups.map((group) => ({
    bucket: group.bucket,
    values: group.values,
    metrics: Object.fromEntries(asked.map((metric) => [metric.name, metric.value(group)])),
  }))
  rows.sort(orderOf(body))
  return { rows: rows.slice(0, body.limit), truncated: rows.length > body.limit }
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

function orderOf(body: QueryBody): (a: Row, b: Row) => number {
  const field = body.order_by?.field ?? defaultOrder(body)
  const sign = body.order_by?.direction === 'asc' ? 1 : -1
  const place = (body.dimensions as string[]).indexOf(field)
  const shown = (row: Row) => {
    if (field === 'date') return row.bucket
    return place >= 0 ? (row.values[place] ?? null) : (row.metrics[field] ?? null)
  }
  return (a, b) => sign * compareNullable(shown(a), shown(b)) || tieBreak(a, b)
}

/** Newest first where there is time, largest first where there is none. */
function defaultOrder({ granularity, dimensions, metrics }: QueryBody): string {
  if (granularity) return 'date'
  return dimensions.find((name) => name === 'generation_id') ?? metrics[0] ?? ''
}

function tieBreak(a: Omit<Row, 'metrics'>, b: Omit<Row, 'metrics'>): number {
  const byTime = compareNullable(b.bucket, a.bucket)
  if (byTime !== 0) return byTime
  for (const [index, value] of a.values.entries()) {
    const order = compareNullable(value, b.values[index] ?? null)
    if (order !== 0) return order
  }
  return 0
}

/** What is not there comes before everything else. */
function compareNullable(a: string | number | null, b: string | number | null): number {
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

import { readText } from '../../app/search-params.ts'
import { type DimensionName, filterNames, isDimension } from './dimensions.ts'
import { type ActivityFilters, isFilter } from './filters.ts'
import { type RankingName, rankings } from './metrics.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Periods that end with the present minute, hour or UTC day: the server has the sums of whole buckets of the chart. */
export const periods = {
  hour: { label: 'Hour', ms: hourMs, unitMs: minuteMs },
  day: { label: '24 hours', ms: dayMs, unitMs: hourMs },
  week: { label: '7 days', ms: 7 * dayMs, unitMs: hourMs },
  month: { label: '30 days', ms: 30 * dayMs, unitMs: dayMs },
} as const

export type PeriodName = keyof typeof periods

/** The choices of the viewer, as the address has them. What is absent has its default. */
export interface ActivitySearch extends ActivityFilters {
  /** Which groups are the largest. */
  metric?: RankingName
  group?: DimensionName | 'none'
  /** Absent also where `from` and `to` are given. */
  period?: PeriodName
  from?: string
  to?: string
  compare?: boolean
  chart?: 'bars' | 'lines'
  /** The latency of groups, if it is not that of p95. */
  latency?: 'p50'
}

/** Whatever is not a choice is dropped: anybody can write an address. */
export function readActivitySearch(search: Record<string, unknown>): ActivitySearch {
  const range = readRange(search)
  const filters = filterNames.flatMap((name) => {
    const value = readText(search[name])
    return value !== undefined && isFilter(name, value) ? [[name, value]] : []
  })
  const { group } = search
  const choices = {
    metric: oneOf(rankings, search.metric),
    group: typeof group === 'string' && (group === 'none' || isDimension(group)) ? group : undefined,
    period: range ? undefined : oneOf(Object.keys(periods), search.period),
    compare: search.compare === true ? true : undefined,
    chart: oneOf(['bars', 'lines'], search.chart),
    latency: oneOf(['p50'], search.latency),
    ...range,
  }
  const given = Object.entries(choices).filter(([, value]) => value !== undefined)
  return Object.fromEntries([...given, ...filters])
}

function oneOf(choices: readonly string[], value: unknown): string | undefined {
  return choices.find((choice) => choice === value)
}

const maxRangeMs = 365 * dayMs

function readRange({ from, to }: Record<string, unknown>): { from: string; to: string } | undefined {
  const [start, end] = [from, to].map((value) => (typeof value === 'string' ? Date.parse(value) : Number.NaN))
  if (start === undefined || end === undefined || !(start < end) || end - start > maxRangeMs) return undefined
  return { from: toApiTime(start), to: toApiTime(end) }
}

/** Half-open, in milliseconds. */
export interface Range {
  start: number
  end: number
}

export function rangeOf({ from, to, period = 'week' }: ActivitySearch, now: number): Range {
  if (from && to) return { start: Date.parse(from), end: Date.parse(to) }
  const { ms, unitMs } = periods[period]
  const end = Math.ceil(now / unitMs) * unitMs
  return { start: end - ms, end }
}

/** The range of the same length that ends when this one begins. */
export function previousRange({ start, end }: Range): Range {
  return { start: start - (end - start), end: start }
}

/** Some metrics and dimensions cannot be queried over more than 31 days. */
export function isLongRange({ start, end }: Range): boolean {
  return end - start > 31 * dayMs
}

export function toApiTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

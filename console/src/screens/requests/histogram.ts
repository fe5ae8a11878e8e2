import { type Period, type RequestSearch, startOf } from './search.ts'

export interface Bucket {
  start: string
  requests: number
  errors: number
}

const hour = 3_600_000
const grain = {
  '1h': { name: 'minute', ms: 60_000 },
  '24h': { name: 'hour', ms: hour },
  '7d': { name: 'hour', ms: hour },
  '30d': { name: 'day', ms: 24 * hour },
  all: { name: 'day', ms: 24 * hour },
} as const

/** All time is shown as its last 30 days. */
function shownPeriod(period: Period): Period {
  return period === 'all' ? '30d' : period
}

/** The filters that the analytics know, by their names there. */
const dimensions = {
  model: 'model',
  provider: 'provider',
  key: 'api_key_id',
  user_id: 'user',
  workspace_id: 'workspace',
} as const

/** The body of `POST /analytics/query`. */
export function histogramQuery(search: RequestSearch, period: Period, now: number) {
  const start = startOf(shownPeriod(period), now) ?? new Date(now).toISOString()
  const names = Object.keys(dimensions) as (keyof typeof dimensions)[]
  return {
    metrics: ['request_count' as const],
    dimensions: ['finish_reason' as const],
    filters: names.flatMap((name) => {
      const value = search[name]
      return value === undefined ? [] : [{ field: dimensions[name], operator: 'eq' as const, value }]
    }),
    granularity: grain[period].name,
    time_range: { start, end: new Date(now).toISOString() },
    limit: 10_000,
  }
}

/** The filters that the histogram does not apply. */
export function ignoredFilters(search: RequestSearch): string[] {
  return Object.keys(search).filter((name) => name !== 'period' && !Object.hasOwn(dimensions, name))
}

type Row = Record<string, string | number | null>

/** One bucket for each step of the period, also for those without requests. */
export function bucketsOf(rows: Row[], period: Period, now: number): Bucket[] {
  const { name, ms } = grain[period]
  const first = Date.parse(startOf(shownPeriod(period), now) ?? '')
  const buckets = new Map<number, Bucket>()
  for (let time = first - (first % ms); time <= now; time += ms) {
    buckets.set(time, { start: new Date(time).toISOString(), requests: 0, errors: 0 })
  }
  for (const row of rows) {
    const bucket = buckets.get(Date.parse(String(row[`created_at__${name}`])))
    if (!bucket) continue
    const count = Number(row.request_count)
    bucket.requests += count
    if (row.finish_reason === null || row.finish_reason === 'error') bucket.errors += count
  }
  return [...buckets.values()]
}

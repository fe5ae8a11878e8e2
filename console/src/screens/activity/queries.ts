import { api, type Schemas } from '../../api/client.ts'
import { type DimensionName, dimensionOf, filterDimensions, filterNames } from './dimensions.ts'
import { type Metric, metricNames, metricOf } from './metrics.ts'
import { type ActivitySearch, isLongRange, type Range, toApiTime } from './search.ts'
import { granularityOf } from './series.ts'

type QueryBody = Schemas['AnalyticsQueryRequest']
type Filter = QueryBody['filters'][number]

/** Series that the chart shows one by one. */
const maxSeries = 8
/** Groups that the table shows. */
export const maxGroups = 100
const maxRows = 10_000

/** A failed or canceled request has no finish reason. */
const failures: Filter = { field: 'finish_reason', operator: 'in', value: ['error'], include_unset: true }

/** The data the viewer has selected: the filters of the address, over a range. */
export interface Selection {
  search: ActivitySearch
  range: Range
}

/** Queries of a member are limited to 64 a minute, so that of a view which was seen before is not sent again. */
function analyticsQuery({ search, range }: Selection, metric: Metric | null, body: Partial<QueryBody>) {
  const filters = filterNames.flatMap((name): Filter[] => {
    const value = search[name]
    const { field } = dimensionOf(filterDimensions[name])
    return value === undefined ? [] : [{ field, operator: 'eq', value }]
  })
  const sent: QueryBody = {
    metrics: metric ? [metric.field] : [],
    dimensions: [],
    filters: metric?.isOnlyFailures ? [...filters, failures] : filters,
    time_range: { start: toApiTime(range.start), end: toApiTime(range.end) },
    limit: maxRows,
    ...body,
  }
  return { ...api.queryOptions('post', '/analytics/query', { body: sent }), staleTime: 300_000 }
}

/** All figures but the failures. */
export function figuresQuery(selection: Selection) {
  const isOffered = ({ isShort, isOnlyFailures }: Metric) =>
    !isOnlyFailures && !(isShort && isLongRange(selection.range))
  const metrics = metricNames.map(metricOf).filter(isOffered)
  return analyticsQuery(selection, null, { metrics: metrics.map(({ field }) => field) })
}

export function failuresQuery(selection: Selection) {
  return analyticsQuery(selection, metricOf('errors'), {})
}

export function totalSeriesQuery(selection: Selection, metric: Metric) {
  return analyticsQuery(selection, metric, { granularity: granularityOf(selection.range) })
}

export function groupSeriesQuery(selection: Selection, metric: Metric, dimension: DimensionName) {
  return analyticsQuery(selection, metric, {
    dimensions: [dimensionOf(dimension).field],
    granularity: granularityOf(selection.range),
    group_limit: maxSeries,
  })
}

/** The columns of the table beside the chosen metric. */
export const tableMetrics = ['spend', 'requests', 'tokens'] as const

/** The groups, largest first. */
export function groupsQuery(selection: Selection, metric: Metric, dimension: DimensionName) {
  const fields = [metric.field, ...tableMetrics.map((name) => metricOf(name).field)]
  return analyticsQuery(selection, metric, {
    metrics: [...new Set(fields)],
    dimensions: [dimensionOf(dimension).field],
    order_by: { field: metric.field, direction: 'desc' },
    limit: maxGroups,
  })
}

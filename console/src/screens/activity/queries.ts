import { api, type Schemas } from '../../api/client.ts'
import { type DimensionName, dimensionOf } from './dimensions.ts'
import { conditionsOf } from './filters.ts'
import { metricNames, metricOf, type RankingName } from './metrics.ts'
import { type ActivitySearch, isLongRange, type Range, toApiTime } from './search.ts'
import { granularityOf } from './series.ts'

type QueryBody = Schemas['AnalyticsQueryRequest']

/** Groups that the charts show one by one. */
const maxSeries = 8
/** Groups that the table shows. */
export const maxGroups = 100
const maxRows = 10_000

/** The data the viewer has selected: the filters of the address, over a range. */
export interface Selection {
  search: ActivitySearch
  range: Range
}

/**
 * Every chart reads from the same query, and that of a view which was seen before is not sent again: queries of a
 * member are limited to 64 a minute.
 */
function analyticsQuery({ search, range }: Selection, body: Partial<QueryBody>) {
  const sent: QueryBody = {
    metrics: listFields(range),
    dimensions: [],
    filters: conditionsOf(search),
    time_range: { start: toApiTime(range.start), end: toApiTime(range.end) },
    limit: maxRows,
    ...body,
  }
  return { ...api.queryOptions('post', '/analytics/query', { body: sent }), staleTime: 300_000 }
}

function listFields(range: Range): QueryBody['metrics'] {
  const offered = metricNames.map(metricOf).filter(({ isShort }) => !(isShort && isLongRange(range)))
  return offered.map(({ field }) => field)
}

/** The figures of the whole period. */
export function figuresQuery(selection: Selection) {
  return analyticsQuery(selection, {})
}

export function totalSeriesQuery(selection: Selection) {
  return analyticsQuery(selection, { granularity: granularityOf(selection.range) })
}

interface Grouping {
  ranking: RankingName
  dimension: DimensionName
}

/** The largest groups over time. */
export function groupSeriesQuery(selection: Selection, { ranking, dimension }: Grouping) {
  const { field } = metricOf(ranking)
  return analyticsQuery(selection, {
    // The first one says which groups are the largest.
    metrics: [field, ...listFields(selection.range).filter((metric) => metric !== field)],
    dimensions: [dimensionOf(dimension).field],
    granularity: granularityOf(selection.range),
    group_limit: maxSeries,
  })
}

/** The groups, largest first. */
export function groupsQuery(selection: Selection, { ranking, dimension }: Grouping) {
  return analyticsQuery(selection, {
    dimensions: [dimensionOf(dimension).field],
    order_by: { field: metricOf(ranking).field, direction: 'desc' },
    limit: maxGroups,
  })
}

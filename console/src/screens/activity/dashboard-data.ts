import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ChartData, ChartSeries } from '../../components/chart-data.ts'
import { type ActivityGroup, type Dimension, dimensionOf } from './dimensions.ts'
import { type ChartDefinition, charts, type MetricName, metricOf } from './metrics.ts'
import { figuresQuery, groupSeriesQuery, totalSeriesQuery } from './queries.ts'
import { isLongRange } from './search.ts'
import {
  buckets,
  granularityOf,
  listBuckets,
  listGroups,
  type Row,
  toGroupSeries,
  toSeries,
} from './series.ts'
import type { View } from './view.ts'

/** A chart with its figures; the data is null where the period is too long for it. */
export interface ShownChart {
  definition: ChartDefinition
  /** The metric of its figure. */
  name: MetricName
  data: ChartData | null
}

export interface Dashboard {
  charts: ShownChart[]
  dimension: Dimension | null
  /** Groups that the charts show one by one. */
  groups: ActivityGroup[]
  /** What the legend of all charts of groups has: the groups, what is left, and the period before. */
  legend: ChartSeries[]
}

/** The charts of a view; undefined until their data is there. */
export function useDashboard(view: View) {
  const { group, ranking } = view
  const totals = useQuery(totalSeriesQuery(view))
  const groups = useQuery({
    ...groupSeriesQuery(view, { ranking, dimension: group === 'none' ? 'model' : group }),
    enabled: group !== 'none',
  })
  const before = useQuery({ ...totalSeriesQuery(view.previous ?? view), enabled: view.previous !== null })
  const rows = totals.data?.data.data
  const groupRows = group === 'none' ? emptyRows : groups.data?.data.data
  const previousRows = view.previous ? before.data?.data.data : undefined
  const dashboard = useMemo(
    () => (rows && groupRows ? buildDashboard(view, { rows, groupRows, previousRows }) : undefined),
    [view, rows, groupRows, previousRows],
  )
  return { dashboard, error: totals.error ?? (group === 'none' ? null : groups.error) ?? before.error }
}

const emptyRows: Row[] = []

interface DashboardRows {
  rows: readonly Row[]
  groupRows: readonly Row[]
  previousRows: readonly Row[] | undefined
}

function buildDashboard(
  view: Pick<View, 'range' | 'previous' | 'group' | 'ranking' | 'chart' | 'latency'>,
  rows: DashboardRows,
): Dashboard {
  const dimension = view.group === 'none' ? null : dimensionOf(view.group)
  const groups = dimension ? listGroups(rows.groupRows, dimension, metricOf(view.ranking)) : []
  const shown = charts.map((definition): ShownChart => {
    const names = dimension ? [chooseMetric(definition, view.latency)] : definition.metrics
    const [name = definition.metrics[0]] = names
    const metric = metricOf(name)
    if (metric.isShort && isLongRange(view.range)) return { definition, name, data: null }
    const series = listSeries(view, rows, { names, dimension, groups })
    const granularity = granularityOf(view.range)
    const data: ChartData = {
      times: listBuckets(view.range, granularity),
      bucketMs: buckets[granularity].ms,
      series,
      kind: metric.isAdditive ? view.chart : 'lines',
      format: metric.format,
      formatAxis: metric.formatAxis,
    }
    return { definition, name, data }
  })
  const others = shown
    .flatMap(({ data }) => data?.series ?? [])
    .filter(({ isRest, isDashed }) => isRest || isDashed)
  const names = [...groups.map(({ label }): LegendEntry => ({ label })), ...others]
  const unique = names.filter(({ label }, at) => names.findIndex((one) => one.label === label) === at)
  const legend = dimension ? unique.map((entry) => ({ ...entry, values: [] })) : []
  return { charts: shown, dimension, groups, legend }
}

type LegendEntry = Omit<ChartSeries, 'values'>

/** Lines of groups are of one percentile. */
function chooseMetric({ metrics }: ChartDefinition, latency: View['latency']): MetricName {
  return metrics.find((name) => name === `latency_${latency}`) ?? metrics[0]
}

interface SeriesChoice {
  names: readonly MetricName[]
  dimension: Dimension | null
  groups: readonly ActivityGroup[]
}

function listSeries(
  { range, previous }: Pick<View, 'range' | 'previous'>,
  { rows, groupRows, previousRows }: DashboardRows,
  { names, dimension, groups }: SeriesChoice,
): ChartSeries[] {
  const granularity = granularityOf(range)
  const optionsOf = (name: MetricName) => ({ range, granularity, metric: metricOf(name) })
  const own = names.flatMap((name): ChartSeries[] => {
    const total = toSeries(rows, optionsOf(name))
    return dimension
      ? toGroupSeries(groupRows, total, { ...optionsOf(name), dimension, groups })
      : [{ label: metricOf(name).label, values: total }]
  })
  const [first] = names
  if (!previous || !previousRows || first === undefined) return own
  const earlier = toSeries(previousRows, { ...optionsOf(first), range: previous.range })
  const values = listBuckets(range, granularity).map((_, index) => earlier[index] ?? null)
  return [...own, { label: dimension ? 'Period before, in all' : 'Period before', values, isDashed: true }]
}

/** The values of the whole period, and of the one before; undefined until they are known. */
export function useFigures(view: View) {
  const current = useQuery(figuresQuery(view))
  const before = useQuery({ ...figuresQuery(view.previous ?? view), enabled: view.previous !== null })
  const readFrom = ({ data, isError }: typeof current, name: MetricName): number | null | undefined => {
    if (!data) return isError ? null : undefined
    const { field, isAdditive } = metricOf(name)
    const value = data.data.data[0]?.[field]
    return typeof value === 'number' ? value : isAdditive ? 0 : null
  }
  return {
    isEmpty: current.data?.data.data.every(({ request_count }) => request_count === 0) ?? false,
    read: (name: MetricName) => readFrom(current, name),
    readPrevious: (name: MetricName) => (view.previous ? readFrom(before, name) : undefined),
    error: current.error ?? before.error,
  }
}

export type Figures = ReturnType<typeof useFigures>

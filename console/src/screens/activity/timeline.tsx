import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Chart, preloadChart } from '../../components/chart.tsx'
import type { ChartData } from '../../components/chart-data.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { type Dimension, dimensionOf, nounOf } from './dimensions.ts'
import { groupSeriesQuery, totalSeriesQuery } from './queries.ts'
import { buckets, granularityOf, listBuckets, type Row, toGroupSeries, toSeries } from './series.ts'
import type { View } from './view.ts'

preloadChart()

/** The chart of the chosen metric. */
export function Timeline({ view, data, error }: { view: View } & ReturnType<typeof useTimeline>) {
  if (error) return <ErrorNotice error={error} onRetry={view.refresh} />
  if (!data) return <Skeleton height={290} aria-label="Loading" />
  const by = view.group === 'none' ? '' : ` by ${nounOf(dimensionOf(view.group))}`
  return (
    <>
      <Chart label={`${view.metric.label}${by} over time`} {...data} />
      {granularityOf(view.range) === 'day' && (
        <Text size="xs" c="dimmed">
          Days begin at midnight UTC.
        </Text>
      )}
    </>
  )
}

/** The data of the chart; undefined until it is there. */
export function useTimeline(view: View) {
  const dimension = view.group === 'none' ? null : dimensionOf(view.group)
  const totals = useQuery(totalSeriesQuery(view, view.metric))
  const groups = useQuery({
    ...groupSeriesQuery(view, view.metric, view.group === 'none' ? 'model' : view.group),
    enabled: dimension !== null,
  })
  const before = useQuery({
    ...totalSeriesQuery(view.previous ?? view, view.metric),
    enabled: view.previous !== null,
  })
  const rows = totals.data?.data.data
  const groupRows = groups.data?.data.data
  const previousRows = before.data?.data.data
  const data = useMemo(
    () =>
      rows && (dimension === null || groupRows)
        ? buildChart(view, { rows, dimension, groupRows: groupRows ?? [], previousRows })
        : undefined,
    [view, rows, dimension, groupRows, previousRows],
  )
  return { data, error: totals.error ?? groups.error ?? before.error }
}

interface TimelineRows {
  rows: Row[]
  dimension: Dimension | null
  groupRows: Row[]
  previousRows: Row[] | undefined
}

function buildChart(view: View, { rows, dimension, groupRows, previousRows }: TimelineRows): ChartData {
  const { range, metric, chart: kind, previous } = view
  const granularity = granularityOf(range)
  const options = { range, granularity, metric }
  const total = toSeries(rows, options)
  const series: ChartData['series'] =
    dimension === null
      ? [{ label: metric.label, values: total }]
      : toGroupSeries(groupRows, total, { ...options, dimension })
  const times = listBuckets(range, granularity)
  const shown = { times, bucketMs: buckets[granularity].ms, kind, format: metric.format }
  if (!previous || !previousRows) return { ...shown, series }
  const earlier = toSeries(previousRows, { ...options, range: previous.range })
  const values = times.map((_, index) => earlier[index] ?? null)
  return { ...shown, series: [...series, { label: 'Period before, in all', values, isDashed: true }] }
}

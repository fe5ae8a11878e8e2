import { Group, SegmentedControl, Skeleton, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Change } from '../../components/change.tsx'
import { Chart } from '../../components/chart.tsx'
import type { ChartData } from '../../components/chart-data.ts'
import type { Highlight } from '../../components/chart-legend.tsx'
import type { ChartMark } from '../../components/chart-marks.tsx'
import { Panel } from '../../components/panel.tsx'
import { formatPlural } from '../../format/number.ts'
import type { Dashboard, Figures, ShownChart } from './dashboard-data.ts'
import { nounOf } from './dimensions.ts'
import { metricOf } from './metrics.ts'
import { requestSearchOf, useMayReadRequests } from './request-search.ts'
import { RequestsLink } from './requests-link.tsx'
import type { Range } from './search.ts'
import type { View } from './view.ts'

interface ChartPanelProps {
  chart: ShownChart
  dashboard: Dashboard
  figures: Figures
  view: View
  highlight: Highlight
  marks: readonly ChartMark[]
}

const height = 200

/** One chart of the dashboard, with its figure for the whole period. */
export function ChartPanel({ chart, dashboard, figures, view, highlight, marks }: ChartPanelProps) {
  const { definition, data } = chart
  const { dimension } = dashboard
  const open = useOpenRequests(view, dashboard, chart)
  const label = `${definition.title}${dimension ? ` by ${nounOf(dimension)}` : ''} over time`
  return (
    <Panel
      title={definition.title}
      description={definition.meaning}
      actions={dimension && definition.metrics.length > 1 && <PercentileControl view={view} />}
    >
      {data === null ? (
        <Text size="sm" c="dimmed">
          For periods of at most 31 days.
        </Text>
      ) : (
        <>
          <PanelFigure chart={chart} figures={figures} view={view} />
          <Chart
            {...{ data, label, height, marks }}
            {...(dimension && { highlight })}
            onZoom={(first, last) => view.zoom(rangeOfBuckets(data, first, last))}
            {...(open && { onOpen: open })}
          />
        </>
      )}
    </Panel>
  )
}

type PanelFigureProps = Pick<ChartPanelProps, 'chart' | 'figures' | 'view'>

function PanelFigure({ chart: { definition, name }, figures, view }: PanelFigureProps) {
  const metric = metricOf(name)
  const value = figures.read(name)
  const { detail, status } = definition
  const count = detail && figures.read(detail)
  if (value === undefined) return <Skeleton height={26} width={90} />
  const text = value === null ? '–' : metric.format(value)
  return (
    <Group gap="xs" align="baseline">
      <Text fw={600} size="xl" component="div" style={{ fontVariantNumeric: 'tabular-nums' }}>
        <RequestsLink
          view={view}
          status={status}
          label={`${metric.label} ${text}. Show the requests`}
          fallback={text}
        >
          {text}
        </RequestsLink>
      </Text>
      {typeof count === 'number' && (
        <Text size="xs" c="dimmed">
          {formatPlural(count, 'error')}
        </Text>
      )}
      <Change value={value} previous={figures.readPrevious(name)} format={metric.format} />
    </Group>
  )
}

function PercentileControl({ view: { latency, change } }: { view: View }) {
  return (
    <SegmentedControl
      size="xs"
      aria-label="Percentile"
      data={['p50', 'p95']}
      value={latency}
      onChange={(next) => change({ latency: next === 'p50' ? 'p50' : undefined })}
    />
  )
}

/** Leads to the requests of a bucket, of one group or of all; absent for those who may not read them. */
function useOpenRequests(view: View, { groups, dimension }: Dashboard, { definition, data }: ShownChart) {
  const navigate = useNavigate()
  const mayRead = useMayReadRequests()
  if (!mayRead || data === null) return undefined
  return (index: number, position: number | null) => {
    const range = rangeOfBuckets(data, index, index)
    const all = { range, status: definition.status }
    const group = position === null ? undefined : groups[position]
    const search =
      (group && dimension ? requestSearchOf(view, { ...all, group, dimension }) : undefined) ??
      requestSearchOf(view, all)
    if (search) void navigate({ to: '/requests', search })
  }
}

function rangeOfBuckets({ times, bucketMs }: ChartData, first: number, last: number): Range {
  return { start: times[first] ?? 0, end: (times[last] ?? 0) + bucketMs }
}

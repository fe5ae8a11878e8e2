import { Paper, SimpleGrid, Skeleton, Text } from '@mantine/core'
import { preloadChart } from '../../components/chart.tsx'
import { ChartLegend, useHighlight } from '../../components/chart-legend.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Icon } from '../../theme/icon.tsx'
import { useAnnotations } from './annotations.ts'
import { ChangesPanel } from './changes-panel.tsx'
import { ChartPanel } from './chart-panel.tsx'
import type { Figures, useDashboard } from './dashboard-data.ts'
import { charts } from './metrics.ts'
import { RequestsLink } from './requests-link.tsx'
import { granularityOf } from './series.ts'
import type { View } from './view.ts'

preloadChart()

interface DashboardViewProps extends ReturnType<typeof useDashboard> {
  view: View
  figures: Figures
}

/** All charts, with one legend. */
export function DashboardView({ view, figures, dashboard, error }: DashboardViewProps) {
  const highlight = useHighlight()
  const marks = useAnnotations(view)
  if (error) return <ErrorNotice error={error} onRetry={view.refresh} />
  if (!dashboard) {
    return (
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm" aria-busy="true" aria-label="Loading">
        {charts.map(({ title }) => (
          <Skeleton key={title} height={340} />
        ))}
      </SimpleGrid>
    )
  }
  const { groups, dimension, legend } = dashboard
  return (
    <>
      {dimension && (
        <Paper withBorder p="xs">
          <ChartLegend
            series={legend}
            highlight={highlight}
            renderExtra={(position) => {
              const group = groups[position]
              return (
                group && (
                  <RequestsLink {...{ view, group, dimension }} label={`Requests of ${group.label}`}>
                    <Icon name="requests" />
                  </RequestsLink>
                )
              )
            }}
          />
        </Paper>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        {dashboard.charts.map((chart) => (
          <ChartPanel
            key={chart.definition.title}
            {...{ chart, dashboard, figures, view, highlight, marks }}
          />
        ))}
      </SimpleGrid>
      <Text size="xs" c="dimmed">
        Drag across a chart to zoom in. Choose a point to see its requests.
        {granularityOf(view.range) === 'day' && ' Days begin at midnight UTC.'}
      </Text>
      <ChangesPanel marks={marks} />
    </>
  )
}

import { Button, Menu } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ChartData } from '../../components/chart-data.ts'
import { downloadText } from '../../components/download.ts'
import { dimensionOf } from './dimensions.ts'
import { groupsCsv, timelineCsv } from './export.ts'
import { listOtherMetrics } from './group-table.tsx'
import { groupsQuery } from './queries.ts'
import type { View } from './view.ts'

/** Saves what is shown: the chart, or the table below it. */
export function ExportMenu({ view, timeline }: { view: View; timeline: ChartData | undefined }) {
  const { metric, metricName, group, range } = view
  const dimension = group === 'none' ? null : dimensionOf(group)
  const groups = useQuery({
    ...groupsQuery(view, metric, group === 'none' ? 'model' : group),
    enabled: dimension !== null,
  })
  const rows = groups.data?.data.data
  const name = `${metricName}-${new Date(range.start).toISOString().slice(0, 10)}`
  return (
    <Menu>
      <Menu.Target>
        <Button size="xs" variant="default" disabled={!timeline}>
          Export CSV
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => timeline && downloadText(`${name}-over-time.csv`, timelineCsv(timeline))}>
          The chart
        </Menu.Item>
        {dimension && (
          <Menu.Item
            disabled={!rows}
            onClick={() =>
              downloadText(
                `${name}-by-${group}.csv`,
                groupsCsv(rows ?? [], dimension, [metric, ...listOtherMetrics(metric)]),
              )
            }
          >
            The table
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}

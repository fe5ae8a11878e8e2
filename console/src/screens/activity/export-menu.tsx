import { Button, Menu } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { downloadText } from '../../components/download.ts'
import { dimensionOf } from './dimensions.ts'
import { groupsCsv, seriesCsv } from './export.ts'
import { listOtherMetrics } from './group-table.tsx'
import { metricNames, metricOf } from './metrics.ts'
import { groupSeriesQuery, groupsQuery, totalSeriesQuery } from './queries.ts'
import { isLongRange } from './search.ts'
import { granularityOf } from './series.ts'
import type { View } from './view.ts'

/** Saves what is shown: the charts, or the table below them. */
export function ExportMenu({ view }: { view: View }) {
  const { ranking, group, range } = view
  const dimension = group === 'none' ? null : dimensionOf(group)
  const grouping = { ranking, dimension: group === 'none' ? ('model' as const) : group }
  const totals = useQuery({ ...totalSeriesQuery(view), enabled: dimension === null })
  const series = useQuery({ ...groupSeriesQuery(view, grouping), enabled: dimension !== null })
  const groups = useQuery({ ...groupsQuery(view, grouping), enabled: dimension !== null })
  const points = (dimension ? series : totals).data?.data.data
  const rows = groups.data?.data.data
  const name = `activity-${new Date(range.start).toISOString().slice(0, 10)}`
  const saveCharts = () => {
    const offered = metricNames.map(metricOf).filter(({ isShort }) => !(isShort && isLongRange(range)))
    const shape = { granularity: granularityOf(range), dimension }
    downloadText(`${name}-over-time.csv`, seriesCsv(points ?? [], shape, offered))
  }
  return (
    <Menu>
      <Menu.Target>
        <Button size="xs" variant="default" disabled={!points}>
          Export CSV
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={saveCharts}>The charts</Menu.Item>
        {dimension && (
          <Menu.Item
            disabled={!rows}
            onClick={() =>
              downloadText(
                `${name}-by-${group.replace(':', '-')}.csv`,
                groupsCsv(rows ?? [], dimension, [metricOf(ranking), ...listOtherMetrics(view)]),
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

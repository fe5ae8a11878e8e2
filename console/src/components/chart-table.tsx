import { Table } from '@mantine/core'
import type { ChartData } from './chart-data.ts'
import { formatBucket } from './chart-time.ts'

/** The values of a chart, newest first. */
export function ChartTable({ label, times, bucketMs, series, format }: ChartData & { label: string }) {
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
      tabIndex={0}
      aria-label={`${label}, as table`}
      style={{ maxHeight: 320, overflow: 'auto' }}
    >
      <Table stickyHeader fz="xs" verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Time</Table.Th>
            {series.map((one) => (
              <Table.Th key={one.label} ta="right">
                {one.label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {times
            .map((time, index) => (
              <Table.Tr key={time}>
                <Table.Td style={{ whiteSpace: 'nowrap' }}>{formatBucket(time, bucketMs)}</Table.Td>
                {series.map(({ label: name, values }) => (
                  <Table.Td key={name} ta="right">
                    {formatValue(values[index], format)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))
            .reverse()}
        </Table.Tbody>
      </Table>
    </section>
  )
}

function formatValue(value: number | null | undefined, format: ChartData['format']): string {
  return value === null || value === undefined ? '–' : format(value)
}

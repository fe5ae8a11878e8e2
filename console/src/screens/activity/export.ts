import type { ChartData } from '../../components/chart-data.ts'
import { type CsvCell, formatCsv } from '../../format/csv.ts'
import { type Dimension, groupOf } from './dimensions.ts'
import type { Metric } from './metrics.ts'
import type { Row } from './series.ts'

/** A row for each point in time. */
export function timelineCsv({ times, series }: ChartData): string {
  const header = ['time_utc', ...series.map(({ label }) => label)]
  const rows = times.map((time, index): CsvCell[] => [
    new Date(time).toISOString(),
    ...series.map(({ values }) => values[index] ?? null),
  ])
  return formatCsv([header, ...rows])
}

/** A row for each group, with the numbers as the API has them. */
export function groupsCsv(rows: readonly Row[], dimension: Dimension, metrics: readonly Metric[]): string {
  const header = [dimension.label, 'id', ...metrics.map(({ label }) => label)]
  const cells = rows.map((row): CsvCell[] => {
    const { id, label } = groupOf(row, dimension)
    return [label, id, ...metrics.map(({ field }) => row[field] ?? null)]
  })
  return formatCsv([header, ...cells])
}

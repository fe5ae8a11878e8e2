import { type CsvCell, formatCsv } from '../../format/csv.ts'
import { type Dimension, groupOf } from './dimensions.ts'
import type { Metric } from './metrics.ts'
import { buckets, type Granularity, type Row } from './series.ts'

/** A row for each point in time, and each group if there are some, with the numbers as the API has them. */
export function seriesCsv(
  rows: readonly Row[],
  { granularity, dimension }: { granularity: Granularity; dimension: Dimension | null },
  metrics: readonly Metric[],
): string {
  const header = ['time_utc', ...(dimension ? [dimension.label, 'id'] : [])]
  const cells = rows.map((row): CsvCell[] => {
    const { id, label } = dimension ? groupOf(row, dimension) : { id: null, label: '' }
    const time = row[buckets[granularity].column] ?? null
    return [time, ...(dimension ? [label, id] : []), ...metrics.map(({ field }) => row[field] ?? null)]
  })
  return formatCsv([[...header, ...metrics.map(({ label }) => label)], ...cells])
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

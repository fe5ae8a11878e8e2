import type { Schemas } from '../../api/client.ts'
import type { ChartSeries } from '../../components/chart-data.ts'
import { type ActivityGroup, type Dimension, groupOf } from './dimensions.ts'
import type { Metric } from './metrics.ts'
import type { Range } from './search.ts'

export type Row = Schemas['AnalyticsResult']['data'][number]
export type Granularity = 'minute' | 'hour' | 'day'

export const buckets = {
  minute: { ms: 60_000, column: 'created_at__minute' },
  hour: { ms: 3_600_000, column: 'created_at__hour' },
  day: { ms: 86_400_000, column: 'date__day' },
}

/** The finest granularity that results in a few hundred points at most. */
export function granularityOf({ start, end }: Range): Granularity {
  const hours = (end - start) / 3_600_000
  if (hours <= 3) return 'minute'
  return hours <= 8 * 24 ? 'hour' : 'day'
}

/** The beginning of every bucket, in milliseconds. */
export function listBuckets({ start, end }: Range, granularity: Granularity): number[] {
  const { ms } = buckets[granularity]
  const first = Math.floor(start / ms) * ms
  return Array.from({ length: Math.ceil((end - first) / ms) }, (_, index) => first + index * ms)
}

interface SeriesOptions {
  range: Range
  granularity: Granularity
  metric: Pick<Metric, 'field' | 'isAdditive'>
}

/** One series of rows without dimensions. A bucket without requests is zero, or a gap where zero would be wrong. */
export function toSeries(rows: readonly Row[], { range, granularity, metric }: SeriesOptions) {
  const { ms, column } = buckets[granularity]
  const times = listBuckets(range, granularity)
  const values: (number | null)[] = times.map(() => (metric.isAdditive ? 0 : null))
  for (const row of rows) {
    const index = Math.round((Date.parse(String(row[column])) - (times[0] ?? 0)) / ms)
    const value = row[metric.field]
    if (index >= 0 && index < values.length && typeof value === 'number') values[index] = value
  }
  return values
}

/** The groups of rows, largest first, each with a label of its own. */
export function listGroups(
  rows: readonly Row[],
  dimension: Dimension,
  ranking: Pick<Metric, 'field'>,
): ActivityGroup[] {
  const sums = new Map<string | null, { group: ActivityGroup; sum: number }>()
  for (const row of rows) {
    const group = groupOf(row, dimension)
    const known = sums.get(group.id) ?? { group, sum: 0 }
    known.sum += Number(row[ranking.field] ?? 0)
    sums.set(group.id, known)
  }
  const groups = [...sums.values()].sort((a, b) => b.sum - a.sum).map(({ group }) => group)
  return numberSameLabels(groups)
}

/** Two keys can have the same name. */
function numberSameLabels(groups: readonly ActivityGroup[]): ActivityGroup[] {
  const seen = new Map<string, number>()
  return groups.map((group) => {
    const count = (seen.get(group.label) ?? 0) + 1
    seen.set(group.label, count)
    return count > 1 ? { ...group, label: `${group.label} (${count})` } : group
  })
}

interface GroupOptions extends SeriesOptions {
  dimension: Dimension
  groups: readonly ActivityGroup[]
}

/** A series for each group, in their order; what is missing from the total is a last one. */
export function toGroupSeries(
  rows: readonly Row[],
  totals: readonly (number | null)[],
  options: GroupOptions,
): ChartSeries[] {
  const { dimension, metric, groups } = options
  const rowsById = Map.groupBy(rows, (row) => groupOf(row, dimension).id)
  const series = groups.map(
    ({ id, label }): ChartSeries => ({ label, values: toSeries(rowsById.get(id) ?? [], options) }),
  )
  if (!metric.isAdditive) return series
  const rest = totals.map((total, index) =>
    removeRounding((total ?? 0) - series.reduce((part, { values }) => part + (values[index] ?? 0), 0)),
  )
  return rest.some((value) => value !== 0)
    ? [...series, { label: restLabel, values: rest, isRest: true }]
    : series
}

/** The groups that are not shown one by one. */
export const restLabel = 'Others'

/** Amounts are exact to the billionth; less is an error of addition. */
function removeRounding(value: number): number {
  return Math.abs(value) < 5e-10 ? 0 : value
}

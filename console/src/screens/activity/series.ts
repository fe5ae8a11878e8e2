import type { Schemas } from '../../api/client.ts'
import { type Dimension, groupOf } from './dimensions.ts'
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

export interface GroupSeries {
  label: string
  values: (number | null)[]
  /** The groups that are not shown one by one. */
  isRest?: true
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

/** A series for each group, largest first; what is missing from the total is a last one. */
export function toGroupSeries(
  rows: readonly Row[],
  totals: readonly (number | null)[],
  options: SeriesOptions & { dimension: Dimension },
): GroupSeries[] {
  const { dimension, metric } = options
  const groups = Map.groupBy(rows, (row) => groupOf(row, dimension).id)
  const series = [...groups.values()].map((own): GroupSeries => {
    const label = groupOf(own[0] ?? {}, dimension).label
    return { label, values: toSeries(own, options) }
  })
  series.sort((a, b) => sum(b.values) - sum(a.values))
  numberSameLabels(series)
  if (!metric.isAdditive) return series
  const rest = totals.map((total, index) =>
    removeRounding((total ?? 0) - series.reduce((part, { values }) => part + (values[index] ?? 0), 0)),
  )
  return rest.some((value) => value > 0)
    ? [...series, { label: 'Others', values: rest, isRest: true }]
    : series
}

/** Two keys can have the same name. */
function numberSameLabels(series: GroupSeries[]): void {
  const seen = new Map<string, number>()
  for (const one of series) {
    const count = (seen.get(one.label) ?? 0) + 1
    seen.set(one.label, count)
    if (count > 1) one.label = `${one.label} (${count})`
  }
}

/** Amounts are exact to the billionth; less is an error of addition. */
function removeRounding(value: number): number {
  return value < 5e-10 ? 0 : value
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}

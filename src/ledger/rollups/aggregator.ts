import { utcMonthStart, utcWeekStart } from '../../lib/time.ts'
import { GroupTotals } from './group-totals.ts'
import { HistogramSet } from './histogram.ts'
import {
  type Axis,
  bucketByTime,
  decodeKey,
  emptyColumn,
  findSkippedRows,
  groupRows,
  type RowGroups,
  skipMismatches,
} from './row-groups.ts'
import type { RollupSegment } from './segment.ts'
import type { HistogramName, LabelName, MeasureName } from './usage-record.ts'

export const granularities = ['minute', 'hour', 'day', 'week', 'month'] as const
export type Granularity = (typeof granularities)[number]

/** `id` exists only for single generations; `none` groups nothing. */
type ColumnName = LabelName | 'id' | 'none'

/** What to group by: a column, and how its values are shown. */
export interface Dimension {
  column: ColumnName
  read: (value: string | null) => string | null
}

export interface Filter {
  column: ColumnName
  matches: (value: string | null) => boolean
}

export interface RollupQuery {
  /** Requests that began in this period, without its end. */
  from: number
  to: number
  granularity: Granularity | null
  dimensions: readonly Dimension[]
  filters: readonly Filter[]
  /** Requests must match all filters of one of these as well, if there are any. */
  alternatives?: readonly (readonly Filter[])[]
  measures: readonly MeasureName[]
  histograms: readonly HistogramName[]
}

export interface Group {
  /** The start of the time bucket, where there is a granularity. */
  bucket: string | null
  values: readonly (string | null)[]
  sum: (measure: MeasureName) => bigint
  average: (histogram: HistogramName) => number | null
  percentile: (histogram: HistogramName, share: number) => number | null
}

export class TooManyGroupsError extends Error {}

const maxGroups = 200_000
/** Whether anything is left of a group. */
export const countMeasure: MeasureName = 'requests'
/** A histogram takes four kilobytes. */
const maxHistogramGroups = 10_000
const dayMs = 86_400_000
const granularityMs = { minute: 60_000, hour: 3_600_000 }

/** Adds up segments, column by column. */
export class Aggregator {
  readonly #query: RollupQuery
  /** The time buckets, then the values of each dimension, by the numbers they were assigned. */
  readonly #buckets = new Interner<string | null>()
  readonly #values: Interner<string | null>[]
  /** Combinations: of the first two, of these with the third, and so on. */
  readonly #combinations: Interner<number>[]
  /** The combinations of all dimensions. */
  readonly #groups = new Interner<number>()
  readonly #groupKeys: Pick<Group, 'bucket' | 'values'>[] = []
  readonly #totals: Map<MeasureName, GroupTotals>
  readonly #histograms: Map<HistogramName, HistogramSet>

  constructor(query: RollupQuery) {
    this.#query = query
    this.#values = query.dimensions.map(() => new Interner())
    this.#combinations = query.dimensions.map(() => new Interner())
    this.#totals = new Map<MeasureName, GroupTotals>(
      [countMeasure, ...query.measures].map((name) => [name, new GroupTotals()]),
    )
    this.#histograms = new Map(query.histograms.map((name) => [name, new HistogramSet()]))
  }

  get groupCount(): number {
    return this.#groupKeys.length
  }

  /** In steps of about a millisecond for a large segment. Columns that the segment lacks add nothing. */
  *add(segment: RollupSegment): Generator<void> {
    const { filters, alternatives = [], from, to } = this.#query
    const start = Date.parse(segment.day)
    const time = { from: from - start, to: to - start, all: dayMs }
    const outside = findSkippedRows(segment, time, filters)
    const skipped = outside === 'all' ? outside : skipMismatches(segment, outside, alternatives)
    if (skipped === 'all') return
    yield
    const groups = this.#assignGroups(segment, skipped)
    for (const [name, sums] of [...this.#totals, ...this.#histograms]) {
      yield
      sums.add(groups, segment.size, segment.columns.get(name) ?? emptyColumn, this.#groupKeys.length)
    }
  }

  /** Without groups whose requests were all reversed. */
  groups(): Group[] {
    const counts = this.#totals.get(countMeasure)
    const groups = this.#groupKeys.map(({ bucket, values }, index) => ({
      index,
      bucket,
      values,
      sum: (measure: MeasureName) => this.#totals.get(measure)?.get(index) ?? 0n,
      average: (histogram: HistogramName) => this.#histograms.get(histogram)?.average(index) ?? null,
      percentile: (histogram: HistogramName, share: number) =>
        this.#histograms.get(histogram)?.percentile(index, share) ?? null,
    }))
    return groups.filter(({ index }) => counts?.get(index) !== 0n)
  }

  #assignGroups(segment: RollupSegment, skipped: Uint8Array | null): RowGroups {
    const axes = [this.#buildTimeAxis(segment), ...this.#buildDimensionAxes(segment)]
    const codes = axes.map(() => 0)
    return groupRows(axes, segment.size, skipped, (key) => {
      decodeKey(axes, key, codes)
      let combination = 0
      for (let axis = 0; axis < axes.length; axis++) {
        const id = axes[axis]?.ids[codes[axis] ?? 0] ?? 0
        combination = axis === 0 ? id : (this.#combinations[axis - 1]?.intern(combination * maxIds + id) ?? 0)
      }
      const group = this.#groups.intern(combination)
      return group < this.#groupKeys.length ? group : this.#addGroup(axes, codes)
    })
  }

  #addGroup(axes: readonly MappedAxis[], codes: readonly number[]): number {
    const max = this.#histograms.size > 0 ? maxHistogramGroups : maxGroups
    if (this.#groupKeys.length >= max) throw new TooManyGroupsError(`more than ${max} groups`)
    const [bucket = 0, ...ids] = axes.map(({ ids: all }, axis) => all[codes[axis] ?? 0] ?? 0)
    const values = ids.map((id, dimension) => this.#values[dimension]?.get(id) ?? null)
    return this.#groupKeys.push({ bucket: this.#buckets.get(bucket) ?? null, values }) - 1
  }

  #buildTimeAxis({ day, size, columns }: RollupSegment): MappedAxis {
    const { granularity } = this.#query
    if (granularity !== 'hour' && granularity !== 'minute') {
      const bucket = granularity === null ? null : bucketDateOf(granularity, day)
      return { numbers: noNumbers, size: 1, ids: [this.#buckets.intern(bucket)] }
    }
    const unit = granularityMs[granularity]
    const numbers = bucketByTime(columns.get('time'), size, unit)
    const ids = Array.from({ length: dayMs / unit }, (_, part) =>
      this.#buckets.intern(new Date(Date.parse(day) + part * unit).toISOString()),
    )
    return { numbers, size: ids.length, ids }
  }

  #buildDimensionAxes({ columns }: RollupSegment): MappedAxis[] {
    return this.#query.dimensions.map(({ column: name, read }, dimension) => {
      const { numbers, values } = columns.get(name) ?? emptyColumn
      const ids = (values ?? [null]).map((value) => this.#values[dimension]?.intern(read(value)) ?? 0)
      return { numbers: numbers ?? noNumbers, size: ids.length, ids }
    })
  }
}

/** Larger than the number of distinct values in any result; a pair of numbers stays a safe integer. */
const maxIds = 2 ** 26

/** Of an axis of size 1. */
const noNumbers = new Uint32Array()

/** An axis whose numbers are local to one segment, with their numbers in the whole result. */
interface MappedAxis extends Axis {
  ids: number[]
}

/** Assigns each item the next number. */
class Interner<T> {
  readonly #ids = new Map<T, number>()
  readonly #items: T[] = []

  intern(item: T): number {
    const existing = this.#ids.get(item)
    if (existing !== undefined) return existing
    this.#ids.set(item, this.#items.length)
    return this.#items.push(item) - 1
  }

  get(number: number): T | undefined {
    return this.#items[number]
  }
}

function bucketDateOf(grain: 'day' | 'week' | 'month', day: string): string {
  if (grain === 'day') return day
  return grain === 'week' ? utcWeekStart(Date.parse(day)) : utcMonthStart(Date.parse(day))
}

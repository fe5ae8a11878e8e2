import type { HistogramName, LabelName, MeasureName } from '../../ledger/usage-record.ts'
import { utcMonthStart, utcWeekStart } from '../../platform/time/time.ts'
import type { Column } from './column.ts'
import { GroupTotals } from './group-totals.ts'
import { HistogramSet } from './histogram.ts'
import { NumberMemo } from './number-memo.ts'
import {
  type Axis,
  bucketByTime,
  type ColumnPredicate,
  decodeKey,
  emptyColumn,
  findSkippedRows,
  groupNumbers,
  groupRows,
  type RowGroups,
  skipMismatches,
} from './row-groups.ts'
import type { RollupSegment } from './segment.ts'

export const granularities = ['minute', 'hour', 'day', 'week', 'month'] as const
export type Granularity = (typeof granularities)[number]

/** `id` exists only for single generations; `none` groups nothing. */
type ColumnName = LabelName | 'id' | 'none'

/** A dimension to group by: a column, and how its values are shown. */
export interface Dimension {
  column: ColumnName
  read: (value: string | null) => string | null
}

export interface Filter {
  column: ColumnName
  matches: (value: string | null) => boolean
  /** The only values that match, where they are known: a store need not read others. */
  values?: readonly string[]
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
  sum(measure: MeasureName): bigint
  average(histogram: HistogramName): number | null
  percentile(histogram: HistogramName, share: number): number | null
}

export class TooManyGroupsError extends Error {}

const maxGroups = 200_000
/** The measure that tells whether anything is left of a group. */
export const countMeasure: MeasureName = 'requests'
/** A histogram takes four kilobytes. */
const maxHistogramGroups = 10_000
const dayMs = 86_400_000
const wholeDay = { from: 0, to: dayMs, all: dayMs }
const granularityMs = { minute: 60_000, hour: 3_600_000 }

/** Adds up segments, column by column. */
export class Aggregator {
  readonly #query: RollupQuery
  readonly #filters: ColumnPredicate[]
  readonly #alternatives: ColumnPredicate[][]
  /** The time buckets, then the values of each dimension, by the numbers they were assigned. */
  readonly #buckets = new Interner<string | null>()
  readonly #values: Interner<string | null>[]
  /** Combinations: of the first two, of these with the third, and so on. */
  readonly #combinations: Interner<number>[]
  /** The combinations of all dimensions. */
  readonly #groups = new Interner<number>()
  readonly #groupKeys: Pick<Group, 'bucket' | 'values'>[] = []
  /** Group of a number, where the number alone decides. */
  readonly #groupOfNumber = new NumberMemo((number) => this.#addNumber(number))
  readonly #totals: Map<MeasureName, GroupTotals>
  readonly #histograms: Map<HistogramName, HistogramSet>

  constructor(query: RollupQuery) {
    this.#query = query
    this.#filters = query.filters.map(createPredicate)
    this.#alternatives = (query.alternatives ?? []).map((filters) => filters.map(createPredicate))
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

  /** Adds a segment in steps of about a millisecond. Columns that the segment lacks add nothing. */
  *add(segment: RollupSegment): Generator<void> {
    const { from, to } = this.#query
    const start = Date.parse(segment.day)
    const time = segment.isWithinPeriod ? wholeDay : { from: from - start, to: to - start, all: dayMs }
    const outside = findSkippedRows(segment, time, this.#filters)
    const skipped = outside === 'all' ? outside : skipMismatches(segment, outside, this.#alternatives)
    if (skipped === 'all') return
    yield
    const groups = this.#assignGroups(segment, skipped)
    for (const [name, sums] of [...this.#totals, ...this.#histograms]) {
      yield
      const summary = typeof groups === 'number' ? segment.summaries?.get(name) : undefined
      const distributions = segment.distributions?.get(name)
      if (distributions && sums instanceof HistogramSet)
        sums.addDistributions(groups, distributions, this.#groupKeys.length)
      else if (summary && sums instanceof HistogramSet)
        sums.addSummary(Number(groups), summary, this.#groupKeys.length)
      else sums.add(groups, segment.size, segment.columns.get(name) ?? emptyColumn, this.#groupKeys.length)
    }
  }

  /** Lists the groups, without those whose requests were all reversed. */
  groups(): Group[] {
    const counts = this.#totals.get(countMeasure)
    const sums = { totals: this.#totals, histograms: this.#histograms }
    const groups = this.#groupKeys.map((key, index) => new SummedGroup(key, index, sums))
    return groups.filter(({ index }) => !counts?.isZero(index))
  }

  #assignGroups(segment: RollupSegment, skipped: Uint8Array | null): RowGroups {
    const numbers = this.#findOnlyNumbers(segment)
    if (numbers) return groupNumbers(numbers, skipped, this.#groupOfNumber)
    const axes = [this.#buildTimeAxis(segment), ...this.#buildDimensionAxes(segment)]
    const codes = axes.map(() => 0)
    return groupRows(axes, segment.size, skipped, (key) => {
      decodeKey(axes, key, codes)
      return this.#internGroup(axes.map(({ idOf }, axis) => idOf(codes[axis] ?? 0)))
    })
  }

  /** The numbers of the only dimension: their groups are the same in all segments. */
  #findOnlyNumbers({ columns }: RollupSegment): Column['numbers'] {
    const { granularity, dimensions } = this.#query
    const [only] = dimensions
    if (granularity !== null || !only || dimensions.length > 1) return null
    const { numbers, values } = columns.get(only.column) ?? emptyColumn
    return values ? null : numbers
  }

  #addNumber(number: number): number {
    return this.#internGroup([this.#buckets.intern(null), this.#internNumber(0, number)])
  }

  #internNumber(dimension: number, number: number): number {
    const value = this.#query.dimensions[dimension]?.read(String(number)) ?? null
    return this.#values[dimension]?.intern(value) ?? 0
  }

  #internGroup(ids: readonly number[]): number {
    let combination = ids[0] ?? 0
    for (let axis = 1; axis < ids.length; axis++) {
      const interner = axis === ids.length - 1 ? this.#groups : this.#combinations[axis - 1]
      combination = interner?.intern(combination * maxIds + (ids[axis] ?? 0)) ?? 0
    }
    const group = ids.length === 1 ? this.#groups.intern(combination) : combination
    return group < this.#groupKeys.length ? group : this.#addGroup(ids)
  }

  #addGroup(ids: readonly number[]): number {
    const max = this.#histograms.size > 0 ? maxHistogramGroups : maxGroups
    if (this.#groupKeys.length >= max) throw new TooManyGroupsError(`more than ${max} groups`)
    const values = this.#values.map((known, dimension) => known.get(ids[dimension + 1] ?? 0) ?? null)
    return this.#groupKeys.push({ bucket: this.#buckets.get(ids[0] ?? 0) ?? null, values }) - 1
  }

  #buildTimeAxis({ day, size, columns }: RollupSegment): MappedAxis {
    const { granularity } = this.#query
    if (granularity !== 'hour' && granularity !== 'minute') {
      const bucket = granularity === null ? null : bucketDateOf(granularity, day)
      const id = this.#buckets.intern(bucket)
      return { numbers: noNumbers, size: 1, idOf: () => id }
    }
    const unit = granularityMs[granularity]
    const numbers = bucketByTime(columns.get('time'), size, unit)
    const ids = Array.from({ length: dayMs / unit }, (_, part) =>
      this.#buckets.intern(new Date(Date.parse(day) + part * unit).toISOString()),
    )
    return { numbers, size: ids.length, idOf: (part) => ids[part] ?? 0 }
  }

  #buildDimensionAxes({ columns }: RollupSegment): MappedAxis[] {
    return this.#query.dimensions.map(({ column: name, read }, dimension) => {
      const { numbers, constant, max, values } = columns.get(name) ?? emptyColumn
      if (!values) {
        const idOf = (number: number) => this.#internNumber(dimension, numbers ? number : constant)
        return { numbers: numbers ?? noNumbers, size: numbers ? max + 1 : 1, idOf }
      }
      const ids = values.map((value) => this.#values[dimension]?.intern(read(value)) ?? 0)
      return { numbers: numbers ?? noNumbers, size: ids.length, idOf: (code) => ids[code] ?? 0 }
    })
  }
}

interface GroupSums {
  totals: ReadonlyMap<MeasureName, GroupTotals>
  histograms: ReadonlyMap<HistogramName, HistogramSet>
}

/** A group as a class, not an object of functions: there can be many thousands. */
class SummedGroup implements Group {
  readonly bucket: string | null
  readonly values: readonly (string | null)[]
  readonly index: number
  readonly #sums: GroupSums

  constructor({ bucket, values }: Pick<Group, 'bucket' | 'values'>, index: number, sums: GroupSums) {
    this.bucket = bucket
    this.values = values
    this.index = index
    this.#sums = sums
  }

  sum(measure: MeasureName): bigint {
    return this.#sums.totals.get(measure)?.get(this.index) ?? 0n
  }

  average(histogram: HistogramName): number | null {
    return this.#sums.histograms.get(histogram)?.average(this.index) ?? null
  }

  percentile(histogram: HistogramName, share: number): number | null {
    return this.#sums.histograms.get(histogram)?.percentile(this.index, share) ?? null
  }
}

/** Limit of ids: larger than the number of distinct values in any result; a pair of numbers stays a safe integer. */
const maxIds = 2 ** 26

/** Numbers of an axis of size 1. */
const noNumbers = new Uint32Array()

/** An axis whose numbers are local to one segment, with their numbers in the whole result. */
interface MappedAxis extends Axis {
  idOf: (number: number) => number
}

function createPredicate({ column, matches }: Filter): ColumnPredicate {
  return { column, matches, numbers: new NumberMemo((number) => (matches(String(number)) ? 1 : 0)) }
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

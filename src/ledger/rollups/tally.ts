import { utcMonthStart, utcWeekStart } from '../../lib/time.ts'
import type { LabelName, MeasureName, SpreadName } from './facts.ts'
import { type Axis, groupRows, nothing, partsOfDay, readCodes, skippedRows } from './rows.ts'
import type { Segment } from './segment.ts'
import { Spreads } from './spread.ts'
import { Sums } from './sums.ts'

export const grains = ['minute', 'hour', 'day', 'week', 'month'] as const
export type Grain = (typeof grains)[number]

/** `id` is known of single generations only; of `none` nothing is known. */
type ColumnName = LabelName | 'id' | 'none'

/** What to group by: a column, and what its values stand for. */
export interface Dimension {
  column: ColumnName
  read: (value: string | null) => string | null
}

export interface Filter {
  column: ColumnName
  keeps: (value: string | null) => boolean
}

export interface Question {
  /** Requests that began in this time; the end is no part of it. */
  from: number
  to: number
  grain: Grain | null
  dimensions: readonly Dimension[]
  filters: readonly Filter[]
  measures: readonly MeasureName[]
  spreads: readonly SpreadName[]
}

export interface Group {
  /** The beginning of the bucket of time, where there is a grain. */
  bucket: string | null
  values: readonly (string | null)[]
  sum: (measure: MeasureName) => bigint
  average: (spread: SpreadName) => number | null
  percentile: (spread: SpreadName, share: number) => number | null
}

export class TooManyGroupsError extends Error {}

const mostGroups = 200_000
/** Says whether anything is left of a group. */
export const countName: MeasureName = 'requests'
/** A distribution takes four kilobytes. */
const mostSpreads = 10_000
const dayMs = 86_400_000
const grainMs = { minute: 60_000, hour: 3_600_000 }

/** Adds up segments, column by column. */
export class Tally {
  readonly #question: Question
  /** The buckets of time, then the values of each dimension, by the numbers they were given. */
  readonly #buckets = new Numbered<string | null>()
  readonly #values: Numbered<string | null>[]
  /** Combinations: of the first two, of these with the third, and so on. */
  readonly #pairs: Numbered<number>[]
  /** Those of all. */
  readonly #groups = new Numbered<number>()
  readonly #found: Pick<Group, 'bucket' | 'values'>[] = []
  readonly #sums: Map<MeasureName, Sums>
  readonly #spreads: Map<SpreadName, Spreads>

  constructor(question: Question) {
    this.#question = question
    this.#values = question.dimensions.map(() => new Numbered())
    this.#pairs = question.dimensions.map(() => new Numbered())
    this.#sums = new Map<MeasureName, Sums>(
      [countName, ...question.measures].map((name) => [name, new Sums()]),
    )
    this.#spreads = new Map(question.spreads.map((name) => [name, new Spreads()]))
  }

  get count(): number {
    return this.#found.length
  }

  add(segment: Segment): void {
    const { filters, from, to } = this.#question
    const start = Date.parse(segment.day)
    const skipped = skippedRows(segment, { from: from - start, to: to - start, all: dayMs }, filters)
    if (skipped === 'all') return
    const groups = this.#groupsOf(segment, skipped)
    for (const [name, sums] of this.#sums) {
      sums.add(groups, segment.columns.get(name) ?? nothing, this.#found.length)
    }
    for (const [name, spreads] of this.#spreads) {
      spreads.add(groups, segment.columns.get(name) ?? nothing, this.#found.length)
    }
  }

  /** Without those of which every request was taken back. */
  groups(): Group[] {
    const counts = this.#sums.get(countName)
    const groups = this.#found.map(({ bucket, values }, place) => ({
      place,
      bucket,
      values,
      sum: (measure: MeasureName) => this.#sums.get(measure)?.of(place) ?? 0n,
      average: (spread: SpreadName) => this.#spreads.get(spread)?.average(place) ?? null,
      percentile: (spread: SpreadName, share: number) =>
        this.#spreads.get(spread)?.percentile(place, share) ?? null,
    }))
    return groups.filter(({ place }) => counts?.of(place) !== 0n)
  }

  #groupsOf(segment: Segment, skipped: Uint8Array | null): Int32Array {
    const axes = [this.#timeOf(segment), ...this.#dimensionsOf(segment)]
    const codes = axes.map(() => 0)
    return groupRows(axes, segment.size, skipped, (key) => {
      readCodes(axes, key, codes)
      let place = 0
      for (let axis = 0; axis < axes.length; axis++) {
        const meaning = axes[axis]?.meanings[codes[axis] ?? 0] ?? 0
        place = axis === 0 ? meaning : (this.#pairs[axis - 1]?.number(place * mostValues + meaning) ?? 0)
      }
      const group = this.#groups.number(place)
      return group < this.#found.length ? group : this.#addGroup(axes, codes)
    })
  }

  #addGroup(axes: readonly MeantAxis[], codes: readonly number[]): number {
    const most = this.#spreads.size > 0 ? mostSpreads : mostGroups
    if (this.#found.length >= most) throw new TooManyGroupsError(`more than ${most} groups`)
    const [bucket = 0, ...meanings] = axes.map(({ meanings: all }, axis) => all[codes[axis] ?? 0] ?? 0)
    const values = meanings.map((meaning, dimension) => this.#values[dimension]?.item(meaning) ?? null)
    return this.#found.push({ bucket: this.#buckets.item(bucket) ?? null, values }) - 1
  }

  #timeOf({ day, size, columns }: Segment): MeantAxis {
    const { grain } = this.#question
    if (grain !== 'hour' && grain !== 'minute') {
      const bucket = grain === null ? null : dateOf(grain, day)
      return { numbers: new Uint32Array(size), size: 1, meanings: [this.#buckets.number(bucket)] }
    }
    const unit = grainMs[grain]
    const numbers = partsOfDay(columns.get('time'), size, unit)
    const meanings = Array.from({ length: dayMs / unit }, (_, part) =>
      this.#buckets.number(new Date(Date.parse(day) + part * unit).toISOString()),
    )
    return { numbers, size: meanings.length, meanings }
  }

  #dimensionsOf({ columns, size }: Segment): MeantAxis[] {
    return this.#question.dimensions.map(({ column: name, read }, dimension) => {
      const { numbers, values } = columns.get(name) ?? nothing
      const meanings = (values ?? [null]).map((value) => this.#values[dimension]?.number(read(value)) ?? 0)
      return { numbers: numbers ?? new Uint32Array(size), size: meanings.length, meanings }
    })
  }
}

/** Fewer than there can be of anything in one answer; a pair of numbers stays a safe integer. */
const mostValues = 2 ** 26

/** An axis whose numbers mean something in one segment, with what that is for the whole tally. */
interface MeantAxis extends Axis {
  meanings: number[]
}

/** Gives each item the next number. */
class Numbered<T> {
  readonly #numbers = new Map<T, number>()
  readonly #items: T[] = []

  number(item: T): number {
    const known = this.#numbers.get(item)
    if (known !== undefined) return known
    this.#numbers.set(item, this.#items.length)
    return this.#items.push(item) - 1
  }

  item(number: number): T | undefined {
    return this.#items[number]
  }
}

function dateOf(grain: 'day' | 'week' | 'month', day: string): string {
  if (grain === 'day') return day
  return grain === 'week' ? utcWeekStart(Date.parse(day)) : utcMonthStart(Date.parse(day))
}

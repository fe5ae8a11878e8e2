import { type Column, createNumberColumn } from './column.ts'
import type { RowGroups } from './row-groups.ts'

/** Each step is 2 % above the previous one, so that a percentile is at most 1 % off. */
const bucketGrowth = 1.02
const bucketCount = 1024
const bucketTableSize = 65_536

/** The logarithms of nearly all values, computed once. */
const bucketTable = Uint16Array.from({ length: bucketTableSize }, (_, value) => computeBucket(value))

/** The distribution of values: how many are in each of the listed steps, and their sum. */
export interface Distribution {
  steps: readonly number[]
  counts: readonly number[]
  total: number
}

/** The step that a value is counted in. */
export function findHistogramBucket(value: number): number {
  return value < bucketTableSize ? (bucketTable[value] as number) : computeBucket(value)
}

function computeBucket(value: number): number {
  return value < 1 ? 0 : Math.min(bucketCount - 1, 1 + Math.floor(Math.log(value) / Math.log(bucketGrowth)))
}

/** The numbers of a summary: the sum of the values, and how many are near each size. */
export const summarySize = 1 + bucketCount

/** The distribution of all rows of a column. */
export function summarize({ numbers, constant }: Column, size: number): Column {
  const counts = new Uint32Array(bucketCount)
  const { total } = countValues(numbers ?? repeat(constant, size), counts)
  // Reversals may exceed what they reverse, which is then in another segment.
  return createNumberColumn([total, ...new Int32Array(counts.buffer)])
}

function repeat(constant: number, size: number): Uint32Array | Float64Array {
  return constant < 0 ? new Float64Array(size).fill(constant) : new Uint32Array(size).fill(constant)
}

/** The distribution of values in each group: their number, their sum, and how many are near each size. */
export class HistogramSet {
  #counts = new Uint32Array(bucketCount)
  #totals = new Float64Array(2)

  /** Adds values, like `GroupTotals.add`. Stored values are one higher: 0 is none. A negative one reverses its opposite. */
  add(groups: RowGroups, size: number, { numbers, constant, max }: Column, count: number): void {
    if (max === 0) return
    this.#grow(count)
    const values = numbers ?? repeat(constant, size)
    if (typeof groups === 'number') this.#addToGroup(groups, values)
    else addValues(groups, values, this.#counts, this.#totals)
  }

  /** All rows of a segment at once. */
  addSummary(group: number, { numbers, constant }: Column, count: number): void {
    this.#grow(count)
    const first = group * bucketCount
    let values = 0
    for (let bucket = 0; bucket < bucketCount; bucket++) {
      const some = numbers?.[bucket + 1] ?? constant
      this.#counts[first + bucket] = (this.#counts[first + bucket] as number) + some
      values += some
    }
    this.#addTotals(group, values, numbers?.[0] ?? constant)
  }

  /** Rows that stand for many values each. */
  addDistributions(groups: RowGroups, rows: readonly (Distribution | null)[], count: number): void {
    this.#grow(count)
    for (const [row, distribution] of rows.entries()) {
      const group = typeof groups === 'number' ? groups : (groups[row] ?? -1)
      if (group >= 0 && distribution) this.#addDistribution(group, distribution)
    }
  }

  #addDistribution(group: number, { steps, counts, total }: Distribution): void {
    let values = 0
    for (const [index, step] of steps.entries()) {
      const some = counts[index] ?? 0
      const at = group * bucketCount + step
      this.#counts[at] = (this.#counts[at] as number) + some
      values += some
    }
    this.#addTotals(group, values, total)
  }

  #addTotals(group: number, count: number, total: number): void {
    this.#totals[group * 2] = (this.#totals[group * 2] as number) + count
    this.#totals[group * 2 + 1] = (this.#totals[group * 2 + 1] as number) + total
  }

  #addToGroup(group: number, values: Uint32Array | Float64Array): void {
    const counts = this.#counts.subarray(group * bucketCount, (group + 1) * bucketCount)
    const { count, total } = countValues(values, counts)
    this.#addTotals(group, count, total)
  }

  average(group: number): number | null {
    const count = this.#totals[group * 2] ?? 0
    return count === 0 ? null : (this.#totals[group * 2 + 1] ?? 0) / count
  }

  /** The percentile of the values. */
  percentile(group: number, share: number): number | null {
    const count = this.#totals[group * 2] ?? 0
    if (count === 0) return null
    const rank = Math.ceil(share * count)
    let cumulative = 0
    const bucket = this.#counts.subarray(group * bucketCount, (group + 1) * bucketCount).findIndex((some) => {
      cumulative += some
      return cumulative >= rank
    })
    return bucket === 0 ? 0 : bucketGrowth ** (bucket - 0.5)
  }

  #grow(count: number): void {
    if (count * bucketCount <= this.#counts.length) return
    const [counts, totals] = [new Uint32Array(count * bucketCount * 2), new Float64Array(count * 4)]
    counts.set(this.#counts)
    totals.set(this.#totals)
    this.#counts = counts
    this.#totals = totals
  }
}

/** Counts values, like `addValues`, for one group, which is three times as fast. */
function countValues(
  values: Uint32Array | Float64Array,
  counts: Uint32Array,
): { count: number; total: number } {
  let count = 0
  let total = 0
  for (let row = 0; row < values.length; row++) {
    const stored = values[row] as number
    if (stored === 0) continue
    const sign = stored < 0 ? -1 : 1
    const value = sign * stored - 1
    const bucket = value < bucketTableSize ? (bucketTable[value] as number) : computeBucket(value)
    counts[bucket] = (counts[bucket] as number) + sign
    count += sign
    total += sign * value
  }
  return { count, total }
}

function addValues(
  groups: Int32Array,
  values: Uint32Array | Float64Array,
  counts: Uint32Array,
  totals: Float64Array,
): void {
  for (let row = 0; row < groups.length; row++) {
    const group = groups[row] as number
    const stored = values[row] as number
    if (group < 0 || stored === 0) continue
    const sign = stored < 0 ? -1 : 1
    const value = sign * stored - 1
    const bucket = value < bucketTableSize ? (bucketTable[value] as number) : computeBucket(value)
    const index = group * bucketCount + bucket
    counts[index] = (counts[index] as number) + sign
    totals[group * 2] = (totals[group * 2] as number) + sign
    totals[group * 2 + 1] = (totals[group * 2 + 1] as number) + sign * value
  }
}

import type { Column } from './column.ts'
import type { NumberMemo } from './number-memo.ts'

/** A dimension of the rows: a number for each row, and how many numbers there are. */
export interface Axis {
  numbers: Uint32Array | Float64Array
  size: number
}

/** Assigns a group to a key that is new. */
type AssignGroup = (key: number) => number

/** Size up to which a table is cheaper than a lookup of each key. */
const maxDenseKeys = 65_536

/** The group of each row's key, or -1 where it is skipped; one number if all rows are in the same group. */
export type RowGroups = Int32Array | number

export function groupRows(
  axes: readonly Axis[],
  size: number,
  skipped: Uint8Array | null,
  assignGroup: AssignGroup,
): RowGroups {
  const count = axes.reduce((product, axis) => product * axis.size, 1)
  if (count === 1 && skipped === null) return assignGroup(0)
  return groupKeys(combineKeys(axes, size), skipped, count, assignGroup)
}

function groupKeys(
  keys: Uint32Array | Float64Array,
  skipped: Uint8Array | null,
  count: number,
  assignGroup: AssignGroup,
): Int32Array {
  return count <= Math.max(maxDenseKeys, keys.length * 8)
    ? groupDense(keys, skipped, count, assignGroup)
    : groupSparse(keys, skipped, assignGroup)
}

/** Combines all axes into one number for each row. */
function combineKeys(axes: readonly Axis[], size: number): Uint32Array | Float64Array {
  const [first, ...others] = axes.filter((axis) => axis.size > 1)
  if (!first) return new Uint32Array(size)
  if (others.length === 0) return first.numbers
  const keys = new Float64Array(first.numbers)
  for (const axis of others) mixAxis(keys, axis)
  return keys
}

function mixAxis(keys: Float64Array, { numbers, size }: Axis): void {
  for (let row = 0; row < keys.length; row++) {
    keys[row] = (keys[row] as number) * size + (numbers[row] as number)
  }
}

/** Numbers combinations from 0 in order of first appearance, for any number of axes. */
export function combineAxes(axes: readonly Axis[], size: number): Uint32Array {
  let combined: Uint32Array = new Uint32Array(size)
  let count = 1
  for (const axis of axes) {
    if (axis.size === 1) continue
    const keys = new Float64Array(combined)
    mixAxis(keys, axis)
    let next = 0
    const numbered = groupKeys(keys, null, count * axis.size, () => next++)
    combined = new Uint32Array(numbered.buffer)
    count = next
  }
  return combined
}

/** Writes the numbers that a key was made of into `codes`. */
export function decodeKey(axes: readonly Axis[], key: number, codes: number[]): void {
  let rest = key
  for (let index = axes.length - 1; index >= 0; index--) {
    const size = axes[index]?.size ?? 1
    codes[index] = rest % size
    rest = Math.floor(rest / size)
  }
}

function groupDense(
  keys: Uint32Array | Float64Array,
  skipped: Uint8Array | null,
  count: number,
  assignGroup: AssignGroup,
): Int32Array {
  const known = new Int32Array(count).fill(-1)
  const groups = new Int32Array(keys.length).fill(-1)
  for (let row = 0; row < keys.length; row++) {
    if (skipped !== null && skipped[row] === 1) continue
    const key = keys[row] as number
    let group = known[key] as number
    if (group < 0) {
      group = assignGroup(key)
      known[key] = group
    }
    groups[row] = group
  }
  return groups
}

/** Groups rows, like `groupRows`, by numbers whose group does not depend on the segment. */
export function groupNumbers(
  numbers: Uint32Array | Float64Array,
  skipped: Uint8Array | null,
  groupOf: NumberMemo,
): Int32Array {
  const groups = new Int32Array(numbers.length).fill(-1)
  for (let row = 0; row < numbers.length; row++) {
    if (skipped === null || skipped[row] === 0) groups[row] = groupOf.get(numbers[row] as number)
  }
  return groups
}

function groupSparse(
  keys: Uint32Array | Float64Array,
  skipped: Uint8Array | null,
  assignGroup: AssignGroup,
): Int32Array {
  const known = new Map<number, number>()
  const groups = new Int32Array(keys.length).fill(-1)
  for (let row = 0; row < keys.length; row++) {
    if (skipped !== null && skipped[row] === 1) continue
    const key = keys[row] as number
    let group = known.get(key)
    if (group === undefined) {
      group = assignGroup(key)
      known.set(key, group)
    }
    groups[row] = group
  }
  return groups
}

/** Tells for each value of a column whether it is selected. */
export interface ColumnPredicate {
  column: string
  matches: (value: string | null) => boolean
  /** 1 for a number that matches, in a column of numbers. */
  numbers: NumberMemo
}

/** Stands for a column that does not exist: the same value in every row. */
export const emptyColumn: Column = {
  numbers: null,
  constant: 0,
  max: 0,
  total: 0,
  isSigned: false,
  values: [null],
}

/**
 * 1 for each row that is not selected; null when all are. Times are in milliseconds of the day of the
 * segment.
 */
export function findSkippedRows(
  { size, columns }: { size: number; columns: ReadonlyMap<string, Column> },
  time: { from: number; to: number; all: number },
  predicates: readonly ColumnPredicate[],
): Uint8Array | null | 'all' {
  let skipped: Uint8Array | null = null
  if (time.from > 0 || time.to < time.all) {
    skipped = new Uint8Array(size)
    skipOutside(columns.get('time'), time.from, time.to, skipped)
  }
  for (const predicate of predicates) {
    const column = columns.get(predicate.column) ?? emptyColumn
    const matching = matchValues(column, predicate)
    if (matching && !matching.includes(0)) continue
    if (matching && !matching.includes(1)) return 'all'
    skipped ??= new Uint8Array(size)
    if (matching && column.numbers) skipValues(column.numbers, matching, skipped)
    else if (column.numbers) skipNumbers(column.numbers, predicate.numbers, skipped)
  }
  return skipped
}

/** 1 for each distinct value that matches; null for a column of different numbers. */
function matchValues({ numbers, constant, values }: Column, predicate: ColumnPredicate): Uint8Array | null {
  if (values) return Uint8Array.from(values, (value) => (predicate.matches(value) ? 1 : 0))
  return numbers ? null : Uint8Array.of(predicate.numbers.get(constant))
}

const anyTime = { from: 0, to: 1, all: 1 }

/** Skips the rows that match none of the alternatives as well, if there are any. */
export function skipMismatches(
  rows: { size: number; columns: ReadonlyMap<string, Column> },
  skipped: Uint8Array | null,
  alternatives: readonly (readonly ColumnPredicate[])[],
): Uint8Array | null | 'all' {
  const mismatches = alternatives.map((predicates) => findSkippedRows(rows, anyTime, predicates))
  if (mismatches.length === 0 || mismatches.includes(null)) return skipped
  const [first, ...others] = mismatches.filter((found) => found instanceof Uint8Array)
  if (!first) return 'all'
  const all = skipped ?? new Uint8Array(rows.size)
  for (let row = 0; row < all.length; row++) {
    if (first[row] === 1 && others.every((other) => other[row] === 1)) all[row] = 1
  }
  return all
}

function skipOutside(time: Column | undefined, from: number, to: number, skipped: Uint8Array): void {
  const times = numbersOf(time, skipped.length)
  for (let row = 0; row < skipped.length; row++) {
    const at = times[row] as number
    if (at < from || at >= to) skipped[row] = 1
  }
}

function skipValues(numbers: Uint32Array | Float64Array, matching: Uint8Array, skipped: Uint8Array): void {
  for (let row = 0; row < skipped.length; row++) if (matching[numbers[row] as number] === 0) skipped[row] = 1
}

function skipNumbers(numbers: Uint32Array | Float64Array, matches: NumberMemo, skipped: Uint8Array): void {
  for (let row = 0; row < skipped.length; row++)
    if (matches.get(numbers[row] as number) === 0) skipped[row] = 1
}

/** The part of the day each row is in. */
export function bucketByTime(time: Column | undefined, size: number, bucketMs: number): Uint32Array {
  const buckets = new Uint32Array(size)
  const times = numbersOf(time, size)
  // Arrays of this type truncate to integers.
  for (let row = 0; row < size; row++) buckets[row] = (times[row] as number) / bucketMs
  return buckets
}

function numbersOf(column: Column | undefined, size: number): Uint32Array | Float64Array {
  return column?.numbers ?? new Uint32Array(size).fill(column?.constant ?? 0)
}

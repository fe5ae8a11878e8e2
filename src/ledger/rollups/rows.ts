import type { Column } from './column.ts'

/** One thing rows are told apart by: a number for each row, and how many there are. */
export interface Axis {
  numbers: Uint32Array | Float64Array
  size: number
}

/** What a key that was not seen before stands for. */
type Find = (key: number) => number

/** Tables up to this size are cheaper than looking each key up. */
const denseKeys = 65_536

/** For each row the group its key stands for, or -1 where it is skipped. */
export function groupRows(
  axes: readonly Axis[],
  size: number,
  skipped: Uint8Array | null,
  find: Find,
): Int32Array {
  const count = axes.reduce((product, axis) => product * axis.size, 1)
  return groupKeys(keysOf(axes, size), skipped, count, find)
}

function groupKeys(
  keys: Uint32Array | Float64Array,
  skipped: Uint8Array | null,
  count: number,
  find: Find,
): Int32Array {
  return count <= Math.max(denseKeys, keys.length * 8)
    ? densely(keys, skipped, count, find)
    : sparsely(keys, skipped, find)
}

/** All axes in one number a row. */
function keysOf(axes: readonly Axis[], size: number): Uint32Array | Float64Array {
  const [first, ...others] = axes.filter((axis) => axis.size > 1)
  if (!first) return new Uint32Array(size)
  if (others.length === 0) return first.numbers
  const keys = new Float64Array(first.numbers)
  for (const axis of others) mix(keys, axis)
  return keys
}

function mix(keys: Float64Array, { numbers, size }: Axis): void {
  for (let row = 0; row < keys.length; row++) {
    keys[row] = (keys[row] as number) * size + (numbers[row] as number)
  }
}

/** Numbers from 0 in the order they first appear, one for each combination, however many axes there are. */
export function foldAxes(axes: readonly Axis[], size: number): Uint32Array {
  let places: Uint32Array = new Uint32Array(size)
  let count = 1
  for (const axis of axes) {
    if (axis.size === 1) continue
    const keys = new Float64Array(places)
    mix(keys, axis)
    let next = 0
    const numbered = groupKeys(keys, null, count * axis.size, () => next++)
    places = new Uint32Array(numbered.buffer)
    count = next
  }
  return places
}

/** The numbers a key was made of, written into `codes`. */
export function readCodes(axes: readonly Axis[], key: number, codes: number[]): void {
  let rest = key
  for (let place = axes.length - 1; place >= 0; place--) {
    const size = axes[place]?.size ?? 1
    codes[place] = rest % size
    rest = Math.floor(rest / size)
  }
}

function densely(
  keys: Uint32Array | Float64Array,
  skipped: Uint8Array | null,
  count: number,
  find: Find,
): Int32Array {
  const known = new Int32Array(count).fill(-1)
  const groups = new Int32Array(keys.length).fill(-1)
  for (let row = 0; row < keys.length; row++) {
    if (skipped !== null && skipped[row] === 1) continue
    const key = keys[row] as number
    let group = known[key] as number
    if (group < 0) {
      group = find(key)
      known[key] = group
    }
    groups[row] = group
  }
  return groups
}

function sparsely(keys: Uint32Array | Float64Array, skipped: Uint8Array | null, find: Find): Int32Array {
  const known = new Map<number, number>()
  const groups = new Int32Array(keys.length).fill(-1)
  for (let row = 0; row < keys.length; row++) {
    if (skipped !== null && skipped[row] === 1) continue
    const key = keys[row] as number
    let group = known.get(key)
    if (group === undefined) {
      group = find(key)
      known.set(key, group)
    }
    groups[row] = group
  }
  return groups
}

/** Says of each value whether it is wanted. */
interface Wish {
  column: string
  keeps: (value: string | null) => boolean
}

/** A column nobody has: the same for all. */
export const nothing: Column = { numbers: null, constant: 0, max: 0, total: 0, values: [null] }

/** 1 for each row that is not wanted; null when all are. Times are in milliseconds of the segment's day. */
export function skippedRows(
  { size, columns }: { size: number; columns: ReadonlyMap<string, Column> },
  time: { from: number; to: number; all: number },
  wishes: readonly Wish[],
): Uint8Array | null | 'all' {
  let skipped: Uint8Array | null = null
  if (time.from > 0 || time.to < time.all) {
    skipped = new Uint8Array(size)
    skipOutside(columns.get('time'), time.from, time.to, skipped)
  }
  for (const { column: name, keeps } of wishes) {
    const { numbers, values } = columns.get(name) ?? nothing
    const kept = Uint8Array.from(values ?? [], (value) => (keeps(value) ? 1 : 0))
    if (!kept.includes(0)) continue
    if (!kept.includes(1)) return 'all'
    skipped ??= new Uint8Array(size)
    if (numbers) skipValues(numbers, kept, skipped)
  }
  return skipped
}

function skipOutside(time: Column | undefined, from: number, to: number, skipped: Uint8Array): void {
  const times = numbersOf(time, skipped.length)
  for (let row = 0; row < skipped.length; row++) {
    const at = times[row] as number
    if (at < from || at >= to) skipped[row] = 1
  }
}

function skipValues(numbers: Uint32Array | Float64Array, kept: Uint8Array, skipped: Uint8Array): void {
  for (let row = 0; row < skipped.length; row++) if (kept[numbers[row] as number] === 0) skipped[row] = 1
}

/** Which part of the day each row is in. */
export function partsOfDay(time: Column | undefined, size: number, unit: number): Uint32Array {
  const parts = new Uint32Array(size)
  const times = numbersOf(time, size)
  // Numbers of this kind are cut to whole ones.
  for (let row = 0; row < size; row++) parts[row] = (times[row] as number) / unit
  return parts
}

function numbersOf(column: Column | undefined, size: number): Uint32Array | Float64Array {
  return column?.numbers ?? new Uint32Array(size).fill(column?.constant ?? 0)
}

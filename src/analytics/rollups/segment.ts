import {
  histograms,
  measureNames,
  measures,
  numberLabels,
  textLabels,
  type UsageRecord,
} from '../../ledger/usage-record.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { type Column, createNumberColumn, createTextColumn } from './column.ts'
import type { Distribution } from './histogram.ts'
import type { LevelDefinition } from './levels.ts'
import { bucketByTime, combineAxes, emptyColumn } from './row-groups.ts'

/** Requests of one organization that began on one UTC day. */
export interface RollupSegment {
  day: string
  size: number
  columns: ReadonlyMap<string, Column>
  /** Distributions of all rows, in place of the columns. */
  summaries?: ReadonlyMap<string, Column>
  /** Distributions of each row, which stands for many requests, in place of the columns. */
  distributions?: ReadonlyMap<string, readonly (Distribution | null)[]>
  /** Whether all rows are in the period of the query, which is then not compared with their time. */
  isWithinPeriod?: boolean
}

/** One row for each request. `time` is in milliseconds since the start of the day. */
function buildSegment(day: string, records: readonly UsageRecord[], isSelected: ColumnFilter): RollupSegment {
  const columns = new Map<string, Column>()
  const start = Date.parse(day)
  if (isSelected('time')) {
    columns.set('time', createNumberColumn(records.map((record) => Date.parse(record.created_at) - start)))
  }
  for (const [name, read] of Object.entries({ ...textLabels, id: idOf })) {
    if (isSelected(name)) columns.set(name, createTextColumn(records.map(read)))
  }
  for (const [name, read] of Object.entries(numberLabels)) {
    if (isSelected(name)) columns.set(name, createNumberColumn(records.map(read)))
  }
  for (const [name, read] of Object.entries({ ...measures, ...histograms })) {
    if (isSelected(name))
      columns.set(name, createNumberColumn(records.map((record) => read(record) * (record.sign ?? 1))))
  }
  return { day, size: records.length, columns }
}

type ColumnFilter = (column: string) => boolean

const idOf = ({ id }: UsageRecord) => id

/** Builds segments by the day on which requests began: a request belongs to the window it started in. */
export function buildSegments(records: readonly UsageRecord[], isSelected: ColumnFilter): RollupSegment[] {
  const days = Map.groupBy(records, (record) => record.created_at.slice(0, 10))
  return [...days].map(([day, some]) => buildSegment(day, some, isSelected))
}

/** Merges rows that a level does not distinguish, and sums them. */
export function aggregateSegment(
  segment: RollupSegment,
  { labels: names, byHour }: LevelDefinition,
): RollupSegment {
  const stored = names.map((name) => labelsOf(segment, name))
  const hours = byHour ? hoursOf(segment) : null
  const axes = stored.map(({ codes, size }) => ({ numbers: codes, size }))
  const groupNumbers = combineAxes(
    hours ? [{ numbers: hours, size: hoursPerDay }, ...axes] : axes,
    segment.size,
  )
  const { firstRows, groups } = sortGroups(groupSafely(segment, groupNumbers), stored)
  const columns = new Map<string, Column>()
  if (hours) columns.set('time', createNumberColumn(firstRows.map((row) => (hours[row] ?? 0) * hourMs)))
  for (const [index, name] of names.entries()) {
    const { codes, values } = stored[index] ?? emptyLabels
    const ofGroups = firstRows.map((row) => codes[row] ?? 0)
    columns.set(name, values ? createTextColumn(readTexts(ofGroups, values)) : createNumberColumn(ofGroups))
  }
  for (const name of measureNames) columns.set(name, sumColumn(segment, name, groups, firstRows.length))
  return { day: segment.day, size: firstRows.length, columns }
}

const hourMs = 3_600_000
const hoursPerDay = 24

function hoursOf({ columns, size }: RollupSegment): Uint32Array {
  return bucketByTime(columns.get('time'), size, hourMs)
}

/** Money must stay exact: where a sum could exceed a safe integer, rows are not merged. */
function groupSafely({ columns, size }: RollupSegment, groupNumbers: Uint32Array): RowGroups {
  const isSafe = measureNames.every((name) => (columns.get(name)?.total ?? 0) < Number.MAX_SAFE_INTEGER / 2)
  if (!isSafe) {
    const rows = Array.from({ length: size }, (_, row) => row)
    return { firstRows: rows, groups: Uint32Array.from(rows) }
  }
  const firstRows: number[] = []
  for (let row = 0; row < size; row++) if (groupNumbers[row] === firstRows.length) firstRows.push(row)
  return { firstRows, groups: groupNumbers }
}

/** Sorts groups by number, if there is one: sums of several segments are then made in the order of memory. */
function sortGroups(rows: RowGroups, stored: readonly Labels[]): RowGroups {
  const numbers = stored.find(({ values }) => values === null)?.codes
  if (!numbers) return rows
  const numberOf = (group: number) => numbers[rows.firstRows[group] ?? 0] ?? 0
  const order = Uint32Array.from(rows.firstRows.keys()).sort((a, b) => numberOf(a) - numberOf(b))
  const places = new Uint32Array(order.length)
  for (let place = 0; place < order.length; place++) places[order[place] as number] = place
  return {
    firstRows: Array.from(order, (group) => rows.firstRows[group] ?? 0),
    groups: rows.groups.map((group) => places[group] ?? 0),
  }
}

interface RowGroups {
  /** The first row of each group. */
  firstRows: number[]
  groups: Uint32Array
}

function sumColumn(segment: RollupSegment, name: string, groups: Uint32Array, count: number): Column {
  const totals = new Float64Array(count)
  const column = segment.columns.get(name)
  for (let row = 0; row < segment.size; row++) {
    const group = groups[row] as number
    totals[group] = (totals[group] as number) + valueAt(column, row)
  }
  return createNumberColumn(totals)
}

/** Merges segments of one day and level. Yields to the event loop after each column. */
export async function mergeSegments(segments: readonly RollupSegment[]): Promise<RollupSegment> {
  const [first] = segments
  if (!first) throw new Error('there are no segments to merge')
  const columns = new Map<string, Column>()
  // A segment of an earlier version lacks columns that were added later.
  const all = new Map(segments.flatMap((segment) => [...segment.columns]))
  for (const [name, { values }] of all) {
    columns.set(name, values ? mergeTexts(segments, name) : mergeNumbers(segments, name))
    await yieldToEventLoop()
  }
  return { day: first.day, size: segments.reduce((sum, { size }) => sum + size, 0), columns }
}

function mergeTexts(segments: readonly RollupSegment[], name: string): Column {
  const texts: (string | null)[] = []
  for (const segment of segments) {
    const { codes, values } = labelsOf(segment, name)
    for (let row = 0; row < segment.size; row++) texts.push(values?.[codes[row] ?? 0] ?? null)
  }
  return createTextColumn(texts)
}

function mergeNumbers(segments: readonly RollupSegment[], name: string): Column {
  const numbers: number[] = []
  for (const { size, columns } of segments) {
    const column = columns.get(name)
    for (let row = 0; row < size; row++) numbers.push(valueAt(column, row))
  }
  return createNumberColumn(numbers)
}

function valueAt(column: Column | undefined, row: number): number {
  return column?.numbers?.[row] ?? column?.constant ?? 0
}

interface Labels {
  codes: Uint32Array | Float64Array
  /** One more than the largest code. */
  size: number
  /** Null if the codes themselves are the values. */
  values: readonly (string | null)[] | null
}

const emptyLabels: Labels = { codes: new Uint32Array(), size: 0, values: [] }

function labelsOf({ columns, size }: RollupSegment, name: string): Labels {
  const { numbers, constant, max, values } = columns.get(name) ?? emptyColumn
  const codes = numbers ?? new Uint32Array(size).fill(values ? 0 : constant)
  return { codes, size: values ? values.length : max + 1, values }
}

function readTexts(codes: readonly number[], values: readonly (string | null)[]): (string | null)[] {
  return codes.map((code) => values[code] ?? null)
}

import { nextTurn } from '../../lib/turns.ts'
import { type Column, numberColumn, textColumn } from './column.ts'
import { type Fact, labels, measureNames, measures, spreads } from './facts.ts'
import type { LevelTraits } from './levels.ts'
import { foldAxes, partsOfDay } from './rows.ts'

/** Requests of one organization that began on one UTC day. */
export interface Segment {
  day: string
  size: number
  columns: ReadonlyMap<string, Column>
}

/** Every request a row of its own. `time` is in milliseconds since the day began. */
function segmentOf(day: string, facts: readonly Fact[], wants: Wants): Segment {
  const columns = new Map<string, Column>()
  const start = Date.parse(day)
  if (wants('time')) {
    columns.set('time', numberColumn(facts.map((fact) => Date.parse(fact.created_at) - start)))
  }
  for (const [name, read] of Object.entries({ ...labels, id: idOf })) {
    if (wants(name)) columns.set(name, textColumn(facts.map(read)))
  }
  for (const [name, read] of Object.entries({ ...measures, ...spreads })) {
    if (wants(name)) columns.set(name, numberColumn(facts.map((fact) => read(fact) * (fact.sign ?? 1))))
  }
  return { day, size: facts.length, columns }
}

type Wants = (column: string) => boolean

const idOf = ({ id }: Fact) => id

/** By the day they began on: a request belongs to the window it started in. */
export function segmentsOf(facts: readonly Fact[], wants: Wants): Segment[] {
  const days = Map.groupBy(facts, (fact) => fact.created_at.slice(0, 10))
  return [...days].map(([day, some]) => segmentOf(day, some, wants))
}

/** Rows that a level does not tell apart become one, with their sums. */
export function collapse(segment: Segment, { labels: names, byHour }: LevelTraits): Segment {
  const texts = names.map((name) => textsOf(segment, name))
  const hours = byHour ? hoursOf(segment) : null
  const axes = texts.map(({ codes, values }) => ({ numbers: codes, size: values.length }))
  const places = foldAxes(hours ? [{ numbers: hours, size: hoursPerDay }, ...axes] : axes, segment.size)
  const { firstRows, groups } = splitUnsafe(segment, places)
  const columns = new Map<string, Column>()
  if (hours) columns.set('time', numberColumn(firstRows.map((row) => (hours[row] ?? 0) * hourMs)))
  for (const [index, name] of names.entries()) {
    const { codes, values } = texts[index] ?? noTexts
    columns.set(name, textColumn(firstRows.map((row) => values[codes[row] ?? 0] ?? null)))
  }
  for (const name of measureNames) columns.set(name, sumColumn(segment, name, groups, firstRows.length))
  return { day: segment.day, size: firstRows.length, columns }
}

const hourMs = 3_600_000
const hoursPerDay = 24

function hoursOf({ columns, size }: Segment): Uint32Array {
  return partsOfDay(columns.get('time'), size, hourMs)
}

/** Money must not lose a digit: where a sum could become too large for a number, every row stands alone. */
function splitUnsafe({ columns, size }: Segment, places: Uint32Array): Places {
  const isSafe = measureNames.every((name) => (columns.get(name)?.total ?? 0) < Number.MAX_SAFE_INTEGER / 2)
  if (!isSafe) {
    const rows = Array.from({ length: size }, (_, row) => row)
    return { firstRows: rows, groups: Uint32Array.from(rows) }
  }
  const firstRows: number[] = []
  for (let row = 0; row < size; row++) if (places[row] === firstRows.length) firstRows.push(row)
  return { firstRows, groups: places }
}

interface Places {
  /** The first row of each group. */
  firstRows: number[]
  groups: Uint32Array
}

function sumColumn(segment: Segment, name: string, groups: Uint32Array, count: number): Column {
  const sums = new Float64Array(count)
  const column = segment.columns.get(name)
  for (let row = 0; row < segment.size; row++) {
    const group = groups[row] as number
    sums[group] = (sums[group] as number) + valueAt(column, row)
  }
  return numberColumn(sums)
}

/** Segments of one day and level in one. Others get a turn after each column. */
export async function join(segments: readonly Segment[]): Promise<Segment> {
  const [first] = segments
  if (!first) throw new Error('there is nothing to join')
  const columns = new Map<string, Column>()
  for (const [name, { values }] of first.columns) {
    columns.set(name, values ? joinTexts(segments, name) : joinNumbers(segments, name))
    await nextTurn()
  }
  return { day: first.day, size: segments.reduce((sum, { size }) => sum + size, 0), columns }
}

function joinTexts(segments: readonly Segment[], name: string): Column {
  const texts: (string | null)[] = []
  for (const segment of segments) {
    const { codes, values } = textsOf(segment, name)
    for (let row = 0; row < segment.size; row++) texts.push(values[codes[row] ?? 0] ?? null)
  }
  return textColumn(texts)
}

function joinNumbers(segments: readonly Segment[], name: string): Column {
  const numbers: number[] = []
  for (const { size, columns } of segments) {
    const column = columns.get(name)
    for (let row = 0; row < size; row++) numbers.push(valueAt(column, row))
  }
  return numberColumn(numbers)
}

function valueAt(column: Column | undefined, row: number): number {
  return column?.numbers?.[row] ?? column?.constant ?? 0
}

interface Texts {
  codes: Uint32Array | Float64Array
  values: readonly (string | null)[]
}

const noTexts: Texts = { codes: new Uint32Array(), values: [] }

function textsOf({ columns, size }: Segment, name: string): Texts {
  const column = columns.get(name)
  return { codes: column?.numbers ?? new Uint32Array(size), values: column?.values ?? [null] }
}

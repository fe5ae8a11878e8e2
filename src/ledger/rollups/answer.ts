import type { Db } from '../../db/db.ts'
import { utcDay } from '../../lib/time.ts'
import { nextTurn } from '../../lib/turns.ts'
import { readTakenBack, sourcesOf } from './facts.ts'
import { type Level, type LevelTraits, rolledLevels } from './levels.ts'
import { segmentsOf } from './segment.ts'
import {
  type Listing,
  listSegments,
  loadSegments,
  type SegmentRow,
  TooSlowError,
  type Unrolled,
} from './segments.ts'
import { previousSlice, readByIds, readSliceOf, readUnrolled, type Scope } from './slices.ts'
import { countName, type Group, type Question, Tally } from './tally.ts'

/** Read, then added up, before anybody else gets a turn. */
const rowsAtOnce = 400_000
const sliceRows = 5000
const fewestRows = 500
const mostAttempts = 5
const dayMs = 86_400_000
const hourMs = 3_600_000

export interface Asking {
  organizationId: string
  question: Question
  /** How long it may take. */
  limitMs: number
}

/** From the roll-ups, and from the generations that are not in them yet: exact at any moment. */
export async function answer(db: Db, { organizationId, question, limitMs }: Asking): Promise<Group[]> {
  const deadline = performance.now() + limitMs
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const tally = new Tally(question)
    const listing = await listSegments(db, {
      organizationId,
      fromDay: utcDay(question.from),
      toDay: utcDay(question.to - 1),
    })
    if (!(await addSegments(db, tally, question, listing, deadline))) continue
    if (!(await addUnrolled(db, tally, question, listing.unrolled, deadline))) continue
    return tally.groups()
  }
  throw new TooSlowError('the roll-ups are being put in order')
}

function scopeOf(organizationId: string, { from, to }: Question): Scope {
  return { organizationId, from: new Date(from).toISOString(), to: new Date(to).toISOString() }
}

/** False when a segment was replaced under way. */
async function addSegments(
  db: Db,
  tally: Tally,
  question: Question,
  { segments }: Listing,
  deadline: number,
): Promise<boolean> {
  const chosen = chooseSegments(segments, question)
  // Only days that are cut need the time of each request.
  for (const [isWhole, some] of Map.groupBy(chosen, ({ day }) => isWithin(question, day))) {
    const names = columnsFor(question, isWhole)
    for (const batch of batches(some)) {
      const loaded = await loadSegments(db, batch, names)
      if (!loaded) return false
      for (const segment of loaded) tally.add(segment)
      await breathe(deadline)
    }
  }
  return true
}

/** Of each day, the smallest roll-up that knows what is asked. */
function chooseSegments(segments: readonly SegmentRow[], question: Question): SegmentRow[] {
  return [...Map.groupBy(segments, ({ day }) => day)].flatMap(([day, ofDay]) => {
    const byLevel = Map.groupBy(ofDay, ({ level }) => level)
    const able = [...byLevel].filter(([level]) => knows(level, question, day))
    const sized = able.map(([, rows]) => ({ rows, size: rows.reduce((sum, { size }) => sum + size, 0) }))
    return sized.sort((a, b) => a.size - b.size)[0]?.rows ?? []
  })
}

function knows(level: Level, question: Question, day: string): boolean {
  if (level === 'request') return true
  const { labels, byHour }: LevelTraits = rolledLevels[level]
  const { grain, dimensions, filters, spreads } = question
  if (spreads.length > 0 || grain === 'minute' || (grain === 'hour' && !byHour)) return false
  const asked = [...dimensions, ...filters].map(({ column }) => column)
  if (!asked.every((column) => column === 'none' || labels.some((label) => label === column))) return false
  return isWithin(question, day) || (byHour && question.from % hourMs === 0 && question.to % hourMs === 0)
}

function isWithin({ from, to }: Question, day: string): boolean {
  const start = Date.parse(day)
  return from <= start && to >= start + dayMs
}

function columnsFor(question: Question, isWhole: boolean): string[] {
  const { grain, dimensions, filters, measures, spreads } = question
  const columns = [...dimensions, ...filters].map(({ column }) => column)
  const time = !isWhole || grain === 'hour' || grain === 'minute' ? ['time'] : []
  return [...new Set<string>([countName, ...columns, ...measures, ...spreads, ...time])]
}

function wantedBy(question: Question): (column: string) => boolean {
  const names = new Set(columnsFor(question, false))
  return (column) => names.has(column)
}

function batches(rows: readonly SegmentRow[]): SegmentRow[][] {
  const found: SegmentRow[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const row of rows) {
    if (size + row.size > rowsAtOnce) {
      found.push([])
      size = 0
    }
    found.at(-1)?.push(row)
    size += row.size
  }
  return found
}

/** What is in no segment yet, and what a segment counts that was corrected since. False when some of it is gone. */
async function addUnrolled(
  db: Db,
  tally: Tally,
  question: Question,
  unrolled: readonly Unrolled[],
  deadline: number,
): Promise<boolean> {
  const wants = wantedBy(question)
  const columns = sourcesOf(wants)
  for (let at = 0; at < unrolled.length; at += sliceRows) {
    const some = unrolled.slice(at, at + sliceRows)
    const ids = some.map(({ generationId }) => generationId)
    const facts = await readUnrolled(db, ids, columns)
    if (facts.length < ids.length) return false
    const takenBack = some.flatMap(({ previous }) => (previous === null ? [] : [readTakenBack(previous)]))
    for (const segment of segmentsOf([...facts, ...takenBack], wants)) tally.add(segment)
    await breathe(deadline)
  }
  return true
}

/** Lets others have a turn: a reply on its way must not wait for a statistic. */
async function breathe(deadline: number): Promise<void> {
  if (performance.now() > deadline) throw new TooSlowError('the time is up')
  await nextTurn()
}

export interface AskingSingly extends Asking {
  /** Only these generations, or the newest. */
  ids: readonly string[] | null
  /** How many of the newest are enough; null when all have to be seen. */
  enough: number | null
}

/**
 * Requests one by one, which no roll-up knows. Those that took longer than an hour, or during which the clock went
 * back by more, are not looked for by time.
 */
export async function answerSingly(
  db: Db,
  { organizationId, question, limitMs, ids, enough }: AskingSingly,
): Promise<Group[]> {
  const deadline = performance.now() + limitMs
  const scope = scopeOf(organizationId, question)
  const wants = wantedBy(question)
  const columns = sourcesOf(wants)
  const tally = new Tally(question)
  if (ids) {
    for (const segment of segmentsOf(await readByIds(db, ids, scope), wants)) tally.add(segment)
    return tally.groups()
  }
  const since = new Date(question.from - hourMs).toISOString()
  let until = new Date(question.to + hourMs).toISOString()
  let size = Math.min(sliceRows, Math.max(fewestRows, (enough ?? sliceRows) * 2))
  while (until > since && (enough === null || tally.count < enough)) {
    const slice = await previousSlice(db, since, until, size)
    if (!slice) break
    for (const segment of segmentsOf(await readSliceOf(db, slice, scope, columns), wants)) tally.add(segment)
    await breathe(deadline)
    until = slice.from
    size = Math.min(sliceRows, size * 2)
  }
  return tally.groups()
}

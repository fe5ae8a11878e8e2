import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { GenerationTable } from '../../platform/db/generation-table.ts'
import type { RefusedRequestTable } from '../../platform/db/schema.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { hasIndexedId } from './indexed-id.ts'
import { buildCondition, type Condition, isVisible, type LogSelection, matchesAll } from './selection.ts'

export type GenerationRow = Selectable<GenerationTable>
export type RefusedRow = Selectable<RefusedRequestTable>

/** A request: one with a record, or one that was refused. */
export type LogEntry =
  | { generation: GenerationRow; refused: null }
  | { generation: null; refused: RefusedRow }

/** The order of the list: newest first, ties by id. */
export interface LogPosition {
  created_at: string
  id: string
}

export interface LogPage {
  entries: LogEntry[]
  /** The next page begins behind it; null if there are no more requests. */
  last: LogPosition | null
}

/** The rows that are read at once. Takes about two milliseconds. */
export const batchSize = 1000
/** The batches that are read for one page: conditions without an index are applied to their rows. */
export const maxBatches = 100
/** The newest requests are usually enough: only if they are not, the roll-ups say where there are others. */
export const firstBatches = 5
/** After this many, a page ends when its time is over. */
export const minBatches = 20
const maxMs = 400

interface PageRequest {
  limit: number
  start: LogPosition | null
  /** The most batches that are read. */
  batches?: number
}

/** A page of the requests that match, newest first. Reads a bounded number of rows, whatever matches. */
export async function readLogPage(
  db: Db,
  selection: LogSelection,
  { limit, start, batches = maxBatches }: PageRequest,
): Promise<LogPage> {
  if (selection.id !== null) return { entries: await readOne(db, selection, selection.id), last: null }
  const end = performance.now() + maxMs
  const entries: LogEntry[] = []
  let last = start
  let read = 0
  for await (const { after, until } of walkBatches(db, selection, start, batches)) {
    entries.push(...(await readRange(db, selection, { after, until, limit: limit - entries.length })))
    if (entries.length === limit) return { entries, last: positionOf(entries.at(-1)) }
    last = until
    if (++read >= minBatches && performance.now() > end) break
  }
  return { entries, last }
}

/** The bounds of the next batches, newest first; those of the last one of all have no end. */
export async function* walkBatches(
  db: Db,
  selection: LogSelection,
  start: LogPosition | null,
  max: number,
): AsyncGenerator<Bounds> {
  let after = start
  for (let batch = 0; batch < max; batch++) {
    const until = await findBoundary(db, selection, after)
    yield { after, until }
    if (!until) return
    after = until
    await yieldToEventLoop()
  }
}

/** The request with this id, if it matches. */
async function readOne(db: Db, selection: LogSelection, id: string): Promise<LogEntry[]> {
  const { organizationId, generations, refused } = selection
  const isMeant = (row: GenerationRow | RefusedRow | undefined, conditions: readonly Condition[] | null) =>
    row?.organization_id === organizationId &&
    conditions !== null &&
    isInPeriod(selection, row) &&
    matchesAll(conditions, row) &&
    isVisible(selection, row)
  const [generation, refusal] = await Promise.all([
    db.selectFrom('generations').selectAll().where('id', '=', id).executeTakeFirst(),
    findRefused(db, id),
  ])
  return mergeEntries(
    generation && isMeant(generation, generations) ? [generation] : [],
    refusal && isMeant(refusal, refused) ? [refusal] : [],
  )
}

export function findRefused(db: Db, id: string): Promise<RefusedRow | undefined> {
  return db.selectFrom('refused_requests').selectAll().where('id', '=', id).executeTakeFirst()
}

export function isInPeriod({ from, to }: LogSelection, { created_at }: LogPosition): boolean {
  return (from === null || created_at >= from) && (to === null || created_at < to)
}

export function positionOf(entry: LogEntry | undefined): LogPosition | null {
  const row = entry?.generation ?? entry?.refused
  return row ? { created_at: row.created_at, id: row.id } : null
}

export interface Bounds {
  after: LogPosition | null
  /** Inclusive, and within the period; null: all that is left. */
  until: LogPosition | null
}

interface Range extends Bounds {
  limit: number
}

export type LogTable = 'generations' | 'refused_requests'

/**
 * The rows of a table that the conditions are applied to. With one bound at each end, the narrower one: of two, SQLite
 * seeks to either, and compares the other with every row between them.
 */
export function selectRange(
  db: Db,
  { organizationId, from, to, isUnsuccessful, indexedId }: LogSelection,
  { after, until }: Bounds,
  table: LogTable,
): RawBuilder<boolean> {
  const parts =
    indexedId?.column === 'session_id'
      ? // An expression, so that only the index of sessions applies.
        [hasIndexedId(db, indexedId), sql<boolean>`organization_id || '' = ${organizationId}`]
      : [sql<boolean>`organization_id = ${organizationId}`]
  if (until) parts.push(sql`(created_at, id) >= (${until.created_at}, ${until.id})`)
  else if (from !== null) parts.push(sql`created_at >= ${from}`)
  if (after && (to === null || after.created_at < to))
    parts.push(sql`(created_at, id) < (${after.created_at}, ${after.id})`)
  else if (to !== null) parts.push(sql`created_at < ${to}`)
  // Without a parameter, which would hide that the index of these applies.
  if (isUnsuccessful && table === 'generations') parts.push(sql`status <> 'completed'`)
  return sql<boolean>`${sql.join(parts, sql` and `)}`
}

/** The last row of the next batch; null if the rest is shorter than one. */
async function findBoundary(
  db: Db,
  selection: LogSelection,
  after: LogPosition | null,
): Promise<LogPosition | null> {
  const tables: LogTable[] = []
  if (selection.generations) tables.push('generations')
  if (selection.refused) tables.push('refused_requests')
  const ends = await Promise.all(
    tables.map((table) =>
      db
        .selectFrom(table)
        .select(['created_at', 'id'])
        .where(selectRange(db, selection, { after, until: null }, table))
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(1)
        .offset(batchSize - 1)
        .executeTakeFirst(),
    ),
  )
  const known = ends.filter((end) => end !== undefined)
  return known.sort(compareNewestFirst)[0] ?? null
}

/** The matching rows of both tables, newest first. */
export async function readRange(db: Db, selection: LogSelection, range: Range): Promise<LogEntry[]> {
  const { generations, refused } = selection
  const [served, rejected] = await Promise.all([
    generations ? readGenerations(db, selection, generations, range) : [],
    refused ? readRefused(db, selection, refused, range) : [],
  ])
  return mergeEntries(served, rejected).slice(0, range.limit)
}

export function mergeEntries(
  generations: readonly GenerationRow[],
  refused: readonly RefusedRow[],
): LogEntry[] {
  const entries = [
    ...generations.map((generation) => ({ row: generation, entry: { generation, refused: null } })),
    ...refused.map((row) => ({ row, entry: { generation: null, refused: row } })),
  ]
  return entries.sort((a, b) => compareNewestFirst(a.row, b.row)).map(({ entry }) => entry)
}

export function compareNewestFirst(a: LogPosition, b: LogPosition): number {
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? 1 : -1
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0
}

function readGenerations(
  db: Db,
  selection: LogSelection,
  conditions: readonly Condition[],
  range: Range,
): Promise<GenerationRow[]> {
  return db
    .selectFrom('generations')
    .selectAll()
    .where(selectRange(db, selection, range, 'generations'))
    .where(buildCondition(selection, conditions))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(range.limit)
    .execute()
}

function readRefused(
  db: Db,
  selection: LogSelection,
  conditions: readonly Condition[],
  range: Range,
): Promise<RefusedRow[]> {
  return db
    .selectFrom('refused_requests')
    .selectAll()
    .where(selectRange(db, selection, range, 'refused_requests'))
    .where(buildCondition(selection, conditions))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(range.limit)
    .execute()
}

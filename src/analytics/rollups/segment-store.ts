import { sql } from 'kysely'
import { type HistogramName, histogramNames, numberLabels } from '../../ledger/usage-record.ts'
import { newTimeOrderedHex } from '../../platform/crypto/ids.ts'
import type { Db } from '../../platform/db/db.ts'
import type { UsageColumnTable, UsageSegmentTable } from '../../platform/db/schema.ts'
import {
  type Column,
  createNumberColumn,
  decodeColumn,
  encodeColumn,
  packColumns,
  unpackColumns,
} from './column.ts'
import { summarize, summarySize } from './histogram.ts'
import type { SegmentLevel } from './levels.ts'
import type { RollupSegment } from './segment.ts'

export type SegmentRow = UsageSegmentTable

export class RollupTimeoutError extends Error {}

/**
 * Segments with fewer rows are stored as a whole: their columns are too short to be worth a round trip each.
 */
const minUnpackedRows = 2000
const maxRowsPerInsert = 200
const packedName = '*'

export interface NewSegment {
  organizationId: string
  level: SegmentLevel
  segment: RollupSegment
  /** Number of `request` rows that it sums. */
  requests: number | null
}

export async function insertSegments(tx: Db, segments: readonly NewSegment[]): Promise<void> {
  const columns: UsageColumnTable[] = []
  const rows = segments.map(({ organizationId, level, segment, requests }): SegmentRow => {
    const id = newTimeOrderedHex()
    for (const [name, body] of encodeBodies(segment)) columns.push({ segment_id: id, name, body })
    return { id, organization_id: organizationId, level, day: segment.day, size: segment.size, requests }
  })
  for (let at = 0; at < rows.length; at += maxRowsPerInsert) {
    await tx
      .insertInto('usage_segments')
      .values(rows.slice(at, at + maxRowsPerInsert))
      .execute()
  }
  for (let at = 0; at < columns.length; at += maxRowsPerInsert) {
    await tx
      .insertInto('usage_columns')
      .values(columns.slice(at, at + maxRowsPerInsert))
      .execute()
  }
}

function encodeBodies({ size, columns }: RollupSegment): Map<string, Uint8Array> {
  const bodies = new Map([...columns].map(([name, column]) => [name, encodeColumn(column)]))
  if (size < minUnpackedRows) return new Map([[packedName, packColumns(bodies)]])
  for (const name of histogramNames) {
    const column = columns.get(name)
    if (column) bodies.set(name + summarySuffix, encodeColumn(summarize(column, size)))
  }
  return bodies
}

/** Suffix of the names of summaries, which are stored beside the columns. */
const summarySuffix = '_counts'

/** Whether the distributions of all its rows are stored: not in those that are small, or from before. */
export function hasSummaries({ level, size, requests }: SegmentRow): boolean {
  return level === 'request' && size >= minUnpackedRows && requests !== null
}

/** Loads only the distributions of segments that have them; undefined in the same case as `loadSegments`. */
export async function loadSummaries(
  db: Db,
  rows: readonly SegmentRow[],
  names: readonly HistogramName[],
): Promise<RollupSegment[] | undefined> {
  const bodies = await readBodies(
    db,
    rows,
    names.map((name) => name + summarySuffix),
  )
  const segments = rows.map(({ id, day, size }): RollupSegment | undefined => {
    const summaries = bodies.get(id)?.map(({ name, body }) => {
      return [name.slice(0, -summarySuffix.length), decodeColumn(body, summarySize)] as const
    })
    return summaries && { day, size, columns: new Map(), summaries: new Map(summaries) }
  })
  return segments.every((segment) => segment !== undefined) ? segments : undefined
}

/** False when some of them were gone. */
export async function deleteSegments(tx: Db, ids: string[]): Promise<boolean> {
  const result = await tx.deleteFrom('usage_segments').where('id', 'in', ids).executeTakeFirst()
  await tx.deleteFrom('usage_columns').where('segment_id', 'in', ids).execute()
  return Number(result.numDeletedRows) === ids.length
}

/** Stores a segment under a new id with another column. False, and nothing is stored, if it is gone. */
export async function replaceColumn(
  tx: Db,
  row: SegmentRow,
  { id, name, column }: { id: string; name: string; column: Column },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('usage_segments')
    .set({ id })
    .where('id', '=', row.id)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await tx.updateTable('usage_columns').set({ segment_id: id }).where('segment_id', '=', row.id).execute()
  const body = encodeColumn(column)
  const [packed] = (await readBodies(tx, [{ ...row, id }], [packedName])).get(id) ?? []
  await tx
    .updateTable('usage_columns')
    .set({ body: packed ? packColumns(new Map([...unpackColumns(packed.body), [name, body]])) : body })
    .where('segment_id', '=', id)
    .where('name', '=', packed ? packedName : name)
    .execute()
  return true
}

class SegmentsReplacedError extends Error {}

/**
 * Replaces segments. When two processes do this at once, one of them finds the segments gone, or is not `allowed`, and
 * changes nothing.
 */
export async function replaceSegments(
  db: Db,
  rows: readonly SegmentRow[],
  replacement: NewSegment,
  allowed: (tx: Db) => Promise<boolean> = async () => true,
): Promise<void> {
  const ids = rows.map(({ id }) => id)
  try {
    await db.transaction().execute(async (tx) => {
      if (!(await allowed(tx))) throw new SegmentsReplacedError()
      if (ids.length > 0 && !(await deleteSegments(tx, ids))) throw new SegmentsReplacedError()
      await insertSegments(tx, [replacement])
    })
  } catch (error) {
    if (!(error instanceof SegmentsReplacedError)) throw error
  }
}

/** A generation that no segment has with its current values; `previous` as `decodeReversal` reads it. */
export interface UnrolledGeneration {
  generationId: string
  previous: string | null
}

export interface SegmentListing {
  segments: SegmentRow[]
  unrolled: UnrolledGeneration[]
}

/** Limit of unrolled generations: with more, no query would finish in time. */
const maxUnrolled = 250_000

/** Lists segments in one statement, so that they are consistent with the generations that are in none of them. */
export async function listSegments(
  db: Db,
  where: { organizationId: string; fromDay: string; toDay: string },
): Promise<SegmentListing> {
  const { organizationId, fromDay, toDay } = where
  const { rows } = await sql<{
    id: string
    level: SegmentLevel | null
    day: string
    size: number
    requests: number | null
    previous: string | null
  }>`
    select id, level, day, size, requests, null as previous from usage_segments
      where organization_id = ${organizationId} and day >= ${fromDay} and day <= ${toDay}
    union all select * from (
      select generation_id, null, null, cast(null as bigint), cast(null as bigint), previous from unrolled_generations
        where organization_id = ${organizationId} limit ${sql.lit(maxUnrolled + 1)}) as unrolled`.execute(db)
  const segments: SegmentRow[] = []
  const unrolled: UnrolledGeneration[] = []
  for (const { id, level, day, size, requests, previous } of rows) {
    if (level === null) unrolled.push({ generationId: id, previous })
    else segments.push({ id, level, day, size, requests, organization_id: organizationId })
  }
  if (unrolled.length > maxUnrolled) throw new RollupTimeoutError('the roll-ups are far behind')
  return { segments, unrolled }
}

/** Undefined when one is gone: it was replaced by a larger one meanwhile. */
export async function loadSegments(
  db: Db,
  rows: readonly SegmentRow[],
  names: readonly string[] | null,
): Promise<RollupSegment[] | undefined> {
  const bySegment = await readBodies(db, rows, names && [packedName, ...names])
  const segments = rows.map((row) => decodeSegment(row, bySegment.get(row.id) ?? [], names))
  return segments.every((segment) => segment !== undefined) ? segments : undefined
}

async function readBodies(
  db: Db,
  rows: readonly SegmentRow[],
  names: readonly string[] | null,
): Promise<Map<string, UsageColumnTable[]>> {
  const ids = rows.map(({ id }) => id)
  let query = db
    .selectFrom('usage_columns')
    .select(['segment_id', 'name', 'body'])
    .where('segment_id', 'in', ids)
  if (names) query = query.where('name', 'in', names)
  return Map.groupBy(await query.execute(), (column) => column.segment_id)
}

function decodeSegment(
  { day, size }: SegmentRow,
  columns: Pick<UsageColumnTable, 'name' | 'body'>[],
  names: readonly string[] | null,
): RollupSegment | undefined {
  const [first] = columns
  if (!first) return undefined
  const bodies =
    first.name === packedName
      ? unpackColumns(first.body)
      : new Map(columns.map(({ name, body }) => [name, body] as const))
  const selected = [...bodies].filter(([name]) => names?.includes(name) ?? !name.endsWith(summarySuffix))
  return { day, size, columns: new Map(selected.map(([name, body]) => [name, readColumn(name, body, size)])) }
}

function readColumn(name: string, body: Uint8Array, size: number): Column {
  const column = decodeColumn(body, size)
  // Stored before these labels were numbers.
  return column.values && Object.hasOwn(numberLabels, name)
    ? parseNumbers(column, column.values, size)
    : column
}

function parseNumbers({ numbers }: Column, values: readonly (string | null)[], size: number): Column {
  const parsed = Float64Array.from(values, Number)
  const all = new Float64Array(size).fill(parsed[0] ?? 0)
  if (numbers) for (let row = 0; row < size; row++) all[row] = parsed[numbers[row] as number] as number
  return createNumberColumn(all)
}

/** Days before `day` that have many small segments. */
export async function findFragmentedDays(
  db: Db,
  day: string,
  limits: { minSegments: number; maxRows: number },
): Promise<{ organization_id: string; level: SegmentLevel; day: string }[]> {
  return db
    .selectFrom('usage_segments')
    .select(['organization_id', 'level', 'day'])
    .where('day', '<', day)
    .where('size', '<', limits.maxRows)
    .groupBy(['organization_id', 'level', 'day'])
    .having(sql`count(*)`, '>=', limits.minSegments)
    .execute()
}

export async function findSegmentsOfDay(
  db: Db,
  where: { organization_id: string; level: SegmentLevel; day: string },
  maxRows: number,
): Promise<SegmentRow[]> {
  return db
    .selectFrom('usage_segments')
    .selectAll()
    .where('organization_id', '=', where.organization_id)
    .where('level', '=', where.level)
    .where('day', '=', where.day)
    .where('size', '<', maxRows)
    .orderBy('id')
    .execute()
}

export async function findSegmentsBefore(
  db: Db,
  level: SegmentLevel,
  day: string,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('usage_segments')
    .select('id')
    .where('level', '=', level)
    .where('day', '<', day)
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** The first day that a level has of an organization; null if it has none. */
export async function findFirstDay(
  db: Db,
  organizationId: string,
  level: SegmentLevel,
): Promise<string | null> {
  const row = await db
    .selectFrom('usage_segments')
    .select('day')
    .where('organization_id', '=', organizationId)
    .where('level', '=', level)
    .orderBy('day')
    .limit(1)
    .executeTakeFirst()
  return row?.day ?? null
}

/** Days with requests that the level lacks, not counting those from before the number of requests was recorded. */
export async function findDaysWithout(
  db: Db,
  level: SegmentLevel,
  first: string,
  end: string,
): Promise<{ organization_id: string; day: string }[]> {
  const ofLevel = (column: string) => sql`case when level = ${level} then ${sql.ref(column)} end`
  return db
    .selectFrom('usage_segments')
    .select(['organization_id', 'day'])
    .where('day', '>=', first)
    .where('day', '<', end)
    .where('level', 'in', ['request', level])
    .groupBy(['organization_id', 'day'])
    .having(sql<boolean>`sum(case when level = 'request' then size end) > coalesce(sum(${ofLevel('requests')}), 0)
      and count(${ofLevel('size')}) = count(${ofLevel('requests')})`)
    .execute()
}

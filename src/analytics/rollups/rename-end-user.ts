import { newTimeOrderedHex } from '../../platform/crypto/ids.ts'
import type { Db } from '../../platform/db/db.ts'
import { advanceRollUps } from '../clickhouse/stream-store.ts'
import { type Column, createTextColumn } from './column.ts'
import type { SegmentLevel } from './levels.ts'
import { deleteSegments, loadSegments, replaceColumn, type SegmentRow } from './segment-store.ts'

/** An end user whose requests of before a time have another name from now on. */
export interface EndUserRename {
  organizationId: string
  name: string
  pseudonym: string
  /** ISO time: later requests keep the name. */
  before: string
  /** The first day. */
  fromDay: string
}

/** Where the next call continues; null if all days are done. */
export interface RenameReport {
  segments: number
  nextDay: string | null
}

/** Days of one call. */
const daysPerCall = 8
/** Levels that have end users. */
const levels = ['request', 'people'] as const

/**
 * Renames an end user in the roll-ups, so that sums stay as they are. The rows of the generations must have the new name
 * already: what is rolled up meanwhile has it then.
 */
export async function renameEndUser(db: Db, rename: EndUserRename): Promise<RenameReport> {
  const { organizationId, fromDay, before } = rename
  const lastDay = before.slice(0, 10)
  const days = await findSegmentDays(db, { organizationId, fromDay, lastDay, levels }, daysPerCall + 1)
  let segments = 0
  for (const day of days.slice(0, daysPerCall)) segments += await renameInDay(db, rename, day)
  return { segments, nextDay: days[daysPerCall] ?? null }
}

/** Repeated until nothing is left: segments are merged meanwhile. */
async function renameInDay(db: Db, rename: EndUserRename, day: string): Promise<number> {
  for (let renamed = 0; ; ) {
    const rows = await listSegmentsOfDay(db, { organizationId: rename.organizationId, day, levels })
    let isDone = true
    for (const row of rows) {
      const outcome = await renameInSegment(db, rename, row)
      if (outcome !== 'clean') isDone = false
      if (outcome === 'renamed') renamed++
    }
    if (isDone) return renamed
  }
}

async function renameInSegment(
  db: Db,
  rename: EndUserRename,
  row: SegmentRow,
): Promise<'clean' | 'renamed' | 'replaced'> {
  const { name, pseudonym, before } = rename
  const [segment] = (await loadSegments(db, [row], ['external', 'time'])) ?? []
  if (!segment) return 'replaced'
  const external = segment.columns.get('external')
  if (!external?.values?.includes(name)) return 'clean'
  // The sums of that day cannot be divided. Queries read the requests instead until they are made again.
  const isDivided = row.day === before.slice(0, 10)
  if (isDivided && row.level !== 'request') return (await discard(db, row)) ? 'renamed' : 'replaced'
  const time = segment.columns.get('time')
  const endMs = isDivided ? Date.parse(before) - Date.parse(row.day) : Number.POSITIVE_INFINITY
  let changed = 0
  const texts = readTexts(external, row.size).map((text, at) => {
    if (text !== name || (time?.numbers?.[at] ?? time?.constant ?? 0) >= endMs) return text
    changed++
    return pseudonym
  })
  if (changed === 0) return 'clean'
  const id = newTimeOrderedHex()
  const isReplaced = await db.transaction().execute(async (tx) => {
    // Sums that are being made of the old segment are discarded.
    await advanceRollUps(tx)
    return replaceColumn(tx, row, { id, name: 'external', column: createTextColumn(texts) })
  })
  return isReplaced ? 'renamed' : 'replaced'
}

function discard(db: Db, row: SegmentRow): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    await advanceRollUps(tx)
    return deleteSegments(tx, [row.id])
  })
}

function readTexts({ numbers, constant, values }: Column, size: number): (string | null)[] {
  return Array.from({ length: size }, (_, row) => values?.[numbers ? (numbers[row] ?? 0) : constant] ?? null)
}

/** Days with segments, in order. */
async function findSegmentDays(
  db: Db,
  where: { organizationId: string; fromDay: string; lastDay: string; levels: readonly SegmentLevel[] },
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('usage_segments')
    .select('day')
    .distinct()
    .where('organization_id', '=', where.organizationId)
    .where('level', 'in', where.levels)
    .where('day', '>=', where.fromDay)
    .where('day', '<=', where.lastDay)
    .orderBy('day')
    .limit(limit)
    .execute()
  return rows.map(({ day }) => day)
}

async function listSegmentsOfDay(
  db: Db,
  where: { organizationId: string; day: string; levels: readonly SegmentLevel[] },
): Promise<SegmentRow[]> {
  return db
    .selectFrom('usage_segments')
    .selectAll()
    .where('organization_id', '=', where.organizationId)
    .where('level', 'in', where.levels)
    .where('day', '=', where.day)
    .execute()
}

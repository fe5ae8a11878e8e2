import { copyFileSync, renameSync, truncateSync } from 'node:fs'
import type { Db } from '../platform/db/db.ts'
import { type DurableSize, DurableSizes } from './durable-sizes.ts'
import { type LeftoverFile, readLeftoverFiles, type SegmentId, segmentPath } from './journal-segment.ts'
import { flushedKey, journalKey, openKey } from './ledger-file.ts'

/** The state of a journal at start. */
export interface JournalInspection {
  /** Path of the database. */
  databasePath: string
  /** The last segment that is in the database. */
  lastFlushed: SegmentId
  /** The files, ordered by the numbers of their segments. */
  leftovers: readonly LeftoverFile[]
  /** Sizes that were on disk; null when no record of them exists. */
  durableSizes: readonly DurableSize[] | null
}

/**
 * Finds the reason, in one line, why the journal cannot be recovered without losing acknowledged charges; null if it
 * can.
 */
export function findJournalProblem(inspection: JournalInspection): string | null {
  return (
    findDamaged(inspection) ?? findMissing(inspection) ?? findTruncated(inspection) ?? findForeign(inspection)
  )
}

const remedy =
  'Restore it, or run `npm run headgate -- accept-journal-loss` to start without the charges that are lost.'

/** A server was stopped while running, and the record of its journal is gone. */
export function formatMissingRecords(path: string): string {
  return `${path} is missing, and with it the record of the last charges before the crash. ${remedy}`
}

function findDamaged({ lastFlushed, leftovers }: JournalInspection): string | null {
  const file = leftovers.find(
    ({ segmentId, damagedLine }) => segmentId && !isFlushed(segmentId, lastFlushed) && damagedLine !== null,
  )
  return file ? `${file.path} is damaged in line ${file.damagedLine}. ${remedy}` : null
}

/** A segment of which some was on disk proves that all of the previous segment was. */
function findTruncated({ lastFlushed, leftovers }: JournalInspection): string | null {
  for (const [index, next] of leftovers.entries()) {
    const previous = leftovers[index - 1]
    if (
      !previous?.segmentId ||
      !next.segmentId ||
      isFlushed(previous.segmentId, lastFlushed) ||
      next.syncedSize === 0
    )
      continue
    if (previous.size < next.previousSize)
      return formatTruncated(previous.path, previous.size, next.previousSize)
  }
  return null
}

function findMissing({
  databasePath,
  lastFlushed,
  leftovers,
  durableSizes,
}: JournalInspection): string | null {
  for (const { fileNumber, segmentId, size } of filterUnflushed(durableSizes, lastFlushed)) {
    const path = segmentPath(databasePath, fileNumber)
    const file = leftovers.find((candidate) => candidate.path === path)
    if (!file) return `${path} is missing, and it held charges that are not in the database. ${remedy}`
    const actual = file.segmentId?.number === segmentId.number ? file.size : 0
    if (actual < size) return formatTruncated(path, actual, size)
  }
  return null
}

function findForeign({ lastFlushed, leftovers }: JournalInspection): string | null {
  const unflushed = leftovers.filter(({ segmentId }) => segmentId && !isFlushed(segmentId, lastFlushed))
  const file = unflushed.find(
    ({ segmentId }, index) =>
      segmentId?.journal !== lastFlushed.journal || segmentId.number !== lastFlushed.number + 1 + index,
  )
  if (!file) return null
  return `${file.path} does not continue this database: the database was restored from a backup, or an earlier journal file is missing. ${remedy}`
}

function filterUnflushed(
  durableSizes: JournalInspection['durableSizes'],
  lastFlushed: SegmentId,
): DurableSize[] {
  return (durableSizes ?? []).filter(
    ({ segmentId }) => segmentId.journal === lastFlushed.journal && !isFlushed(segmentId, lastFlushed),
  )
}

export function isFlushed({ journal, number }: SegmentId, lastFlushed: SegmentId): boolean {
  return journal === lastFlushed.journal && number <= lastFlushed.number
}

function formatTruncated(path: string, size: number, expected: number): string {
  return `${path} has ${size} of the ${expected} bytes that were on disk before the crash. ${remedy}`
}

/**
 * Lets the next start continue with what is left of the journal. Returns the names of the files that were
 * renamed.
 */
export async function acceptJournalLoss(db: Db, databasePath: string): Promise<string[]> {
  const rows = await db.selectFrom('instance').selectAll().execute()
  const instanceValues = new Map(rows.map(({ name, value }) => [name, value]))
  const lastFlushed = {
    journal: instanceValues.get(journalKey) ?? '',
    number: Number(instanceValues.get(flushedKey) ?? 0),
  }
  const sizes = new DurableSizes(databasePath)
  const quarantined = quarantineLost({
    databasePath,
    lastFlushed,
    leftovers: readLeftoverFiles(databasePath),
    durableSizes: sizes.read(),
  })
  sizes.remove()
  await db.deleteFrom('instance').where('name', '=', openKey).execute()
  return quarantined
}

/**
 * Leaves the files that a start can recover, segment by segment from the last that is in the database, and
 * renames all others. Returns the new names.
 */
function quarantineLost({ databasePath, lastFlushed, leftovers, durableSizes }: JournalInspection): string[] {
  const records = filterUnflushed(durableSizes, lastFlushed)
  const quarantined: string[] = []
  let expected = lastFlushed.number + 1
  for (const [index, { path, segmentId, size, damagedLine }] of leftovers.entries()) {
    const record = records.find((candidate) => segmentPath(databasePath, candidate.fileNumber) === path)
    const isNeeded = segmentId !== null && !isFlushed(segmentId, lastFlushed)
    if (!isNeeded && !record) continue
    const follows = isNeeded && segmentId.journal === lastFlushed.journal && segmentId.number === expected
    const quarantinePath = `${path}.lost-${Date.now()}`
    if (!follows || damagedLine !== null) quarantined.push(quarantinePath)
    if (!follows) renameSync(path, quarantinePath)
    else if (damagedLine !== null) {
      copyFileSync(path, quarantinePath)
      truncateSync(path, size)
    }
    const expectedSize = Math.max(record?.size ?? 0, leftovers[index + 1]?.previousSize ?? 0)
    // No segment can follow one that is incomplete.
    if (follows) expected = damagedLine !== null || size < expectedSize ? Number.NaN : expected + 1
  }
  return quarantined
}

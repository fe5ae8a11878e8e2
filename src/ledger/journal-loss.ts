import { copyFileSync, renameSync, truncateSync } from 'node:fs'
import type { Db } from '../db/db.ts'
import { type DurableSize, DurableSizes } from './durable-sizes.ts'
import { foldedName, journalName, openName } from './fold.ts'
import { type Left, leftOf, type PieceName, segmentPath } from './segment.ts'

/** What a start finds of a journal. */
export interface Found {
  /** Path of the database. */
  database: string
  /** The last piece that is in the database. */
  last: PieceName
  /** The files, by the numbers of their pieces. */
  left: readonly Left[]
  /** What was on disk; null when nobody wrote it down. */
  durable: readonly DurableSize[] | null
}

/** In one line, why the journal cannot be taken up without losing what clients were told of; null when it can. */
export function journalProblem(found: Found): string | null {
  return damaged(found) ?? missing(found) ?? shortened(found) ?? stray(found)
}

const remedy =
  'Restore it, or run `npm run headgate -- accept-journal-loss` to start without the charges that are lost.'

/** A server was stopped in the middle of its work, and what it wrote down of its journal is gone. */
export function missingRecordsText(path: string): string {
  return `${path} is missing, and with it what the last charges before the crash were. ${remedy}`
}

function damaged({ last, left }: Found): string | null {
  const file = left.find(({ piece, damagedLine }) => piece && !isFolded(piece, last) && damagedLine !== null)
  return file ? `${file.path} is damaged in line ${file.damagedLine}. ${remedy}` : null
}

/** A piece of which some was on disk proves that all of the piece before was. */
function shortened({ last, left }: Found): string | null {
  for (const [place, next] of left.entries()) {
    const before = left[place - 1]
    if (!before?.piece || !next.piece || isFolded(before.piece, last) || next.synced === 0) continue
    if (before.size < next.beforeSize) return shorterText(before.path, before.size, next.beforeSize)
  }
  return null
}

function missing({ database, last, left, durable }: Found): string | null {
  for (const { place, piece, size } of unfolded(durable, last)) {
    const path = segmentPath(database, place)
    const file = left.find((candidate) => candidate.path === path)
    if (!file) return `${path} is missing, and it held charges that are not in the database. ${remedy}`
    const there = file.piece?.number === piece.number ? file.size : 0
    if (there < size) return shorterText(path, there, size)
  }
  return null
}

function stray({ last, left }: Found): string | null {
  const pieces = left.filter(({ piece }) => piece && !isFolded(piece, last))
  const file = pieces.find(
    ({ piece }, place) => piece?.journal !== last.journal || piece.number !== last.number + 1 + place,
  )
  if (!file) return null
  return `${file.path} does not belong to the database as it stands: that was restored from a backup, or a file before this one is missing. ${remedy}`
}

function unfolded(durable: Found['durable'], last: PieceName): DurableSize[] {
  return (durable ?? []).filter(({ piece }) => piece.journal === last.journal && !isFolded(piece, last))
}

export function isFolded({ journal, number }: PieceName, last: PieceName): boolean {
  return journal === last.journal && number <= last.number
}

function shorterText(path: string, size: number, expected: number): string {
  return `${path} has ${size} of the ${expected} bytes that were on disk before the crash. ${remedy}`
}

/** Lets the next start go on with what is there of the journal. Gives the names of the files that were set aside. */
export async function acceptJournalLoss(db: Db, database: string): Promise<string[]> {
  const rows = await db.selectFrom('instance').selectAll().execute()
  const facts = new Map(rows.map(({ name, value }) => [name, value]))
  const last = { journal: facts.get(journalName) ?? '', number: Number(facts.get(foldedName) ?? 0) }
  const sizes = new DurableSizes(database)
  const asides = setAsideLoss({ database, last, left: leftOf(database), durable: sizes.read() })
  sizes.remove()
  await db.deleteFrom('instance').where('name', '=', openName).execute()
  return asides
}

/**
 * Leaves what a start can take up, one piece after the other from the last that is in the database, and puts
 * everything else under another name. Gives those names.
 */
function setAsideLoss({ database, last, left, durable }: Found): string[] {
  const records = unfolded(durable, last)
  const asides: string[] = []
  let expected = last.number + 1
  for (const [place, { path, piece, size, damagedLine }] of left.entries()) {
    const record = records.find((candidate) => segmentPath(database, candidate.place) === path)
    const isNeeded = piece !== null && !isFolded(piece, last)
    if (!isNeeded && !record) continue
    const follows = isNeeded && piece.journal === last.journal && piece.number === expected
    const aside = `${path}.lost-${Date.now()}`
    if (!follows || damagedLine !== null) asides.push(aside)
    if (!follows) renameSync(path, aside)
    else if (damagedLine !== null) {
      copyFileSync(path, aside)
      truncateSync(path, size)
    }
    const whole = Math.max(record?.size ?? 0, left[place + 1]?.beforeSize ?? 0)
    // Nothing can follow a piece that is not whole.
    if (follows) expected = damagedLine !== null || size < whole ? Number.NaN : expected + 1
  }
  return asides
}

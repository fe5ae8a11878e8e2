import {
  closeSync,
  fdatasync,
  fsync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Line } from './line.ts'

/** A journal that cannot be trusted: whoever runs the server must look at it. */
export class JournalError extends Error {}

/** A wait for the disk costs the processor more than a charge does: those that end within this time share one. */
const syncEveryMs = 2

/** Which piece it is, of which database's journal: numbers follow one another. */
export interface PieceName {
  journal: string
  number: number
}

/** Writes down how much of a piece is on disk; `isFirst`: of this piece nothing was written down before. */
export type NoteDurable = (piece: PieceName, size: number, isFirst: boolean) => Promise<void>

/**
 * A file of the journal: a piece at a time, a line for each batch. It is written over when its piece is in the
 * database, because new room on a disk costs more than old; every line says which piece it is of.
 */
export class SegmentFile {
  readonly path: string
  readonly #file: number
  #piece: PieceName = { journal: '', number: 0 }
  /** How much of it belongs to the piece; what a failed write left behind that is written over. */
  #size = 0
  #unwritten = ''
  /** What it builds upon: when that is on disk, and how long it is. */
  #before: Promise<void> = Promise.resolve()
  #beforeSize = 0
  /** How much of the piece is known to be on disk. */
  #synced = 0
  #syncing: Promise<void> = Promise.resolve()
  #nextSync: Promise<void> | null = null
  #syncedAt = Number.NEGATIVE_INFINITY
  #isNamed = false
  readonly #noteDurable: NoteDurable

  constructor(path: string, noteDurable: NoteDurable = async () => undefined) {
    this.path = path
    this.#noteDurable = noteDurable
    this.#file = openSync(path, 'wx', 0o600)
  }

  get piece(): PieceName {
    return this.#piece
  }
  get size(): number {
    return this.#size
  }
  /** Nothing was ever to be written into the piece, not even in vain. */
  get isEmpty(): boolean {
    return this.#size === 0 && this.#unwritten === ''
  }

  /** `before`: when the piece that this one builds upon outlives a power cut; `beforeSize`: how long it is. */
  begin(piece: PieceName, before: Promise<void>, beforeSize: number): void {
    this.#piece = piece
    this.#before = before
    this.#beforeSize = beforeSize
    this.#size = 0
    this.#synced = 0
  }

  /** Outlives this process once it returns. What could not be written goes first the next time. */
  append(lines: readonly Line[]): void {
    if (lines.length > 0) this.#unwritten += lineText(this.#piece, this.#beforeSize, this.#synced, lines)
    if (this.#unwritten === '') return
    const written = writeSync(this.#file, this.#unwritten, this.#size)
    const wanted = Buffer.byteLength(this.#unwritten)
    if (written < wanted) throw new Error(`only ${written} of ${wanted} bytes could be written`)
    this.#size += wanted
    this.#unwritten = ''
  }

  /** Resolves when what was appended until now outlives a power cut too. */
  sync(): Promise<void> {
    this.#nextSync ??= this.#syncNext()
    return this.#nextSync
  }

  async #syncNext(): Promise<void> {
    await this.#syncing.catch(() => undefined)
    const pause = this.#syncedAt + syncEveryMs - performance.now()
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    this.#syncedAt = performance.now()
    this.#nextSync = null
    this.#syncing = this.#syncNow()
    await this.#syncing
  }

  async #syncNow(): Promise<void> {
    const size = this.#size
    const written = called((done) => fdatasync(this.#file, done))
    await Promise.all([this.#before, written, this.#isNamed ? undefined : syncFolder(dirname(this.path))])
    this.#isNamed = true
    if (size > this.#synced) await this.#noteDurable(this.#piece, size, this.#synced === 0)
    this.#synced = size
  }

  /** Nobody waits for the disk any more. */
  async quiet(): Promise<void> {
    await this.#nextSync?.catch(() => undefined)
    await this.#syncing.catch(() => undefined)
  }

  close(): void {
    closeSync(this.#file)
  }

  remove(): void {
    this.close()
    unlinkSync(this.path)
  }
}

/** A file has a name after a power cut only when its folder is on disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = openSync(path, 'r')
  try {
    await called((done) => fsync(folder, done))
  } finally {
    closeSync(folder)
  }
}

export function called(call: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => call((error) => (error ? reject(error) : resolve())))
}

/** What a line says beside the operations: how long the piece before is, and how much of this one was on disk by then. */
function lineText(
  { journal, number }: PieceName,
  beforeSize: number,
  synced: number,
  lines: readonly Line[],
): string {
  const text = `${beforeSize} ${synced} ${lines.join('\t')}`
  return `${journal} ${number} ${Bun.hash.xxHash32(text, number)} ${text}\n`
}

interface WholeLine {
  piece: PieceName
  beforeSize: number
  synced: number
  content: string
}

/** `s`: JSON leaves U+2028 and U+2029 as they are, which end a line for a pattern, but not for a file. */
const lineForm = /^(\w+) (\d+) (\d+) ((\d+) (\d+) (.*))$/s

/** Undefined when it is not whole. */
function readLine(text: string): WholeLine | undefined {
  const [, journal = '', number, hash, hashed = '', beforeSize, synced, content] = lineForm.exec(text) ?? []
  if (content === undefined || Number(hash) !== Bun.hash.xxHash32(hashed, Number(number))) return undefined
  const piece = { journal, number: Number(number) }
  return { piece, beforeSize: Number(beforeSize), synced: Number(synced), content }
}

export function segmentPath(database: string, place: number): string {
  return `${database}-ledger-${place}`
}

/** The files that an earlier process left of the journal of a database. */
export function segmentsLeft(database: string): string[] {
  const beginning = basename(segmentPath(database, 0)).slice(0, -1)
  const folder = dirname(database)
  const names = readdirSync(folder).filter((name) => name.startsWith(beginning))
  return names.filter((name) => /^\d+$/.test(name.slice(beginning.length))).map((name) => join(folder, name))
}

export interface Left {
  path: string
  /** Null when there is none. */
  piece: PieceName | null
  /** In bytes, as far as it can be read. */
  size: number
  /** Of the piece before. */
  beforeSize: number
  /** How much of it was on disk, as its own lines say; more than nothing means that the piece before was, too. */
  synced: number
  /** A power cut took something away that was not on disk yet: nobody was told of it, nor of what came after. */
  isCut: boolean
  /** The first line that cannot be read though it was on disk; null when all can. */
  damagedLine: number | null
}

/**
 * The piece that was begun last in a file. After it come a torn line, which nobody was told of, and what is left
 * of an earlier piece. A line that cannot be read between others was not on disk when the power went, unless one
 * of the others says that it was.
 */
export function readLeft(path: string): Left {
  // What comes after the last line end is torn.
  const texts = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  const read = texts.map(readLine)
  const number = read.reduce((latest, line) => Math.max(latest, line?.piece.number ?? 0), 0)
  const own = read.slice(0, read.findLastIndex((line) => line?.piece.number === number) + 1)
  const bad = own.findIndex((line) => line?.piece.number !== number)
  const whole = bad < 0 ? own.length : bad
  const size = texts.slice(0, whole).reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
  const synced = own.reduce(
    (most, line) => (line?.piece.number === number ? Math.max(most, line.synced) : most),
    0,
  )
  const last = own.at(-1)
  return {
    path,
    piece: last?.piece ?? null,
    size,
    beforeSize: last?.beforeSize ?? 0,
    synced,
    isCut: bad >= 0,
    damagedLine: bad >= 0 && size < synced ? bad + 1 : null,
  }
}

/** What an earlier process left of the journal of a database, by the numbers of the pieces. */
export function leftOf(database: string): Left[] {
  const number = ({ piece }: Left) => piece?.number ?? 0
  return segmentsLeft(database)
    .map(readLeft)
    .sort((a, b) => number(a) - number(b))
}

/** The lines of a piece that is known to be whole. */
export function* readPiece(path: string, size: number): Generator<Line> {
  const text = readBeginning(path, size)
  for (let at = 0, end = 0; at < text.length; at = end + 1) {
    end = text.indexOf('\n', at)
    const line = end < 0 ? undefined : readLine(text.slice(at, end))
    if (!line) throw new JournalError(`${path} is damaged at ${at}.`)
    yield* line.content.split('\t')
  }
}

function readBeginning(path: string, size: number): string {
  const bytes = Buffer.allocUnsafe(size)
  const file = openSync(path, 'r')
  try {
    readSync(file, bytes, 0, size, 0)
  } finally {
    closeSync(file)
  }
  return bytes.toString()
}

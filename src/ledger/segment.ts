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
const syncEveryMs = 4

/** Which piece it is, of which database's journal: numbers follow one another. */
export interface PieceName {
  journal: string
  number: number
}

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
  #before: Promise<void> = Promise.resolve()
  #syncing: Promise<void> = Promise.resolve()
  #nextSync: Promise<void> | null = null
  #syncedAt = Number.NEGATIVE_INFINITY
  #isNamed = false

  constructor(path: string) {
    this.path = path
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

  /** `before`: when what the piece builds upon outlives a power cut. */
  begin(piece: PieceName, before: Promise<void>): void {
    this.#piece = piece
    this.#before = before
    this.#size = 0
  }

  /** Outlives this process once it returns. What could not be written goes first the next time. */
  append(lines: readonly Line[]): void {
    if (lines.length > 0) this.#unwritten += lineText(this.#piece, lines)
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
    const written = called((done) => fdatasync(this.#file, done))
    await Promise.all([this.#before, written, this.#isNamed ? undefined : syncFolder(dirname(this.path))])
    this.#isNamed = true
  }

  /** Nobody waits for the disk any more. */
  async quiet(): Promise<void> {
    await this.#nextSync?.catch(() => undefined)
    await this.#syncing.catch(() => undefined)
  }

  remove(): void {
    closeSync(this.#file)
    unlinkSync(this.path)
  }
}

/** A file has a name after a power cut only when its folder is on disk. */
async function syncFolder(path: string): Promise<void> {
  const folder = openSync(path, 'r')
  try {
    await called((done) => fsync(folder, done))
  } finally {
    closeSync(folder)
  }
}

function called(call: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => call((error) => (error ? reject(error) : resolve())))
}

function lineText({ journal, number }: PieceName, lines: readonly Line[]): string {
  const text = lines.join('\t')
  return `${journal} ${number} ${Bun.hash.xxHash32(text, number)} ${text}\n`
}

/** `s`: JSON leaves U+2028 and U+2029 as they are, which end a line for a pattern, but not for a file. */
const lineForm = /^(\w+) (\d+) (\d+) (.*)$/s

/** Undefined when it is not whole. */
function readLine(text: string): { piece: PieceName; content: string } | undefined {
  const [, journal = '', number, hash, content] = lineForm.exec(text) ?? []
  if (content === undefined || Number(hash) !== Bun.hash.xxHash32(content, Number(number))) return undefined
  return { piece: { journal, number: Number(number) }, content }
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
  /** In bytes. */
  size: number
  /** The first line that cannot be read between others; null when all can. */
  damagedLine: number | null
}

/**
 * The piece that was begun last in a file. After it come a torn line, which nobody was told of, and what is left
 * of an earlier piece; but a line that cannot be read between others was one of them.
 */
export function readLeft(path: string): Left {
  // What comes after the last line end is torn.
  const texts = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  const read = texts.map(readLine)
  const number = read.reduce((latest, line) => Math.max(latest, line?.piece.number ?? 0), 0)
  const own = read.slice(0, read.findLastIndex((line) => line?.piece.number === number) + 1)
  const damaged = own.findIndex((line) => line?.piece.number !== number)
  const size = texts.slice(0, own.length).reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
  return { path, piece: own.at(-1)?.piece ?? null, size, damagedLine: damaged < 0 ? null : damaged + 1 }
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

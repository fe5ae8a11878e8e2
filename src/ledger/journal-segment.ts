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
import type { JournalLine } from './journal-line.ts'

/** The journal cannot be trusted: an operator has to look at it. */
export class JournalError extends Error {}

/** The number of a segment, and the journal it belongs to: numbers are consecutive. */
export interface SegmentId {
  journal: string
  number: number
}

/**
 * Records how much of a segment is on disk; `isFirst`: nothing was recorded for this segment before. Without a promise
 * if nothing has to be waited for.
 */
export type DurableSizeRecorder = (
  segmentId: SegmentId,
  size: number,
  isFirst: boolean,
) => Promise<void> | undefined

/**
 * A file of the journal: one segment at a time, a line for each batch. It is overwritten once its segment is
 * in the database, because allocating new disk space costs more than reusing it; every line names its
 * segment.
 */
export class SegmentFile {
  readonly path: string
  readonly #file: number
  #segmentId: SegmentId = { journal: '', number: 0 }
  /** Prefix of every line of the segment. */
  #lineStart = ''
  /** Bytes that belong to the segment; the rest of a failed write behind them is overwritten. */
  #size = 0
  #unwritten = ''
  /** The previous segment: when it is on disk, and its size. */
  #previousSync: Promise<void> = Promise.resolve()
  #previousSize = 0
  /** Bytes of the segment that are known to be on disk. */
  #syncedSize = 0
  /** The sync in progress, and the one that begins after it. */
  #syncing: Promise<void> | null = null
  #nextSync: Promise<void> | null = null
  #isDirectorySynced = false
  readonly #recordDurable: DurableSizeRecorder

  constructor(path: string, recordDurable: DurableSizeRecorder = () => undefined) {
    this.path = path
    this.#recordDurable = recordDurable
    this.#file = openSync(path, 'wx', 0o600)
  }

  get segmentId(): SegmentId {
    return this.#segmentId
  }
  get size(): number {
    return this.#size
  }
  /** Whether nothing was written to the segment, nor attempted to be. */
  get isEmpty(): boolean {
    return this.#size === 0 && this.#unwritten === ''
  }

  /** `previousSync` resolves when the previous segment survives a power cut; `previousSize` is its size. */
  begin(segmentId: SegmentId, previousSync: Promise<void>, previousSize: number): void {
    this.#segmentId = segmentId
    this.#lineStart = `${segmentId.journal} ${segmentId.number} `
    this.#previousSync = previousSync
    this.#previousSize = previousSize
    this.#size = 0
    this.#unwritten = ''
    this.#syncedSize = 0
  }

  /**
   * Survives the end of this process once it returns. What could not be written is written first the next
   * time.
   */
  append(lines: readonly JournalLine[]): void {
    if (lines.length > 0) this.#unwritten += this.#encodeLine(lines)
    if (this.#unwritten === '') return
    const written = writeSync(this.#file, this.#unwritten, this.#size)
    const expected = Buffer.byteLength(this.#unwritten)
    if (written < expected) throw new Error(`only ${written} of ${expected} bytes could be written`)
    this.#size += expected
    this.#unwritten = ''
  }

  /** Besides the operations, a line has the size of the previous segment and how much of this one is on disk. */
  #encodeLine(lines: readonly JournalLine[]): string {
    const text = `${this.#previousSize} ${this.#syncedSize} ${lines.join('\t')}`
    return `${this.#lineStart}${Bun.hash.xxHash32(text, this.#segmentId.number)} ${text}\n`
  }

  /** Resolves when what was appended so far also survives a power cut. */
  sync(): Promise<void> {
    if (!this.#syncing) return this.#beginSync()
    this.#nextSync ??= this.#syncAfter(this.#syncing)
    return this.#nextSync
  }

  async #syncAfter(current: Promise<void>): Promise<void> {
    await current.catch(() => undefined)
    this.#nextSync = null
    await this.#beginSync()
  }

  #beginSync(): Promise<void> {
    const syncing = this.#syncNow()
    this.#syncing = syncing
    return syncing
  }

  async #syncNow(): Promise<void> {
    try {
      const size = this.#size
      const isFirst = this.#syncedSize === 0
      await (isFirst ? this.#syncFirst() : this.#syncFile())
      if (size > this.#syncedSize) await this.#recordDurable(this.#segmentId, size, isFirst)
      this.#syncedSize = size
    } finally {
      // One that waits begins in its turn, and none before it.
      this.#syncing = this.#nextSync
    }
  }

  /** Syncs the first time: nothing counts as being on disk before the previous segment and the name of the file are. */
  async #syncFirst(): Promise<void> {
    const directory = this.#isDirectorySynced ? undefined : syncDirectory(dirname(this.path))
    await Promise.all([this.#previousSync, this.#syncFile(), directory])
    this.#isDirectorySynced = true
  }

  #syncFile(): Promise<void> {
    return promisifyCall((done) => fdatasync(this.#file, done))
  }

  /** Resolves when no sync is pending. */
  async waitUntilIdle(): Promise<void> {
    await this.#nextSync?.catch(() => undefined)
    await this.#syncing?.catch(() => undefined)
  }

  close(): void {
    closeSync(this.#file)
  }

  remove(): void {
    this.close()
    unlinkSync(this.path)
  }
}

/** A file keeps its name after a power cut only if its directory was synced. */
export async function syncDirectory(path: string): Promise<void> {
  const folder = openSync(path, 'r')
  try {
    await promisifyCall((done) => fsync(folder, done))
  } finally {
    closeSync(folder)
  }
}

export function promisifyCall(call: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => call((error) => (error ? reject(error) : resolve())))
}

interface DecodedLine {
  segmentId: SegmentId
  previousSize: number
  syncedSize: number
}

/** Undefined when it is incomplete or damaged. */
function decodeLine(text: string): DecodedLine | undefined {
  if (findOperations(text, 0, text.length) < 0) return undefined
  const [journal = '', number, , previousSize, syncedSize] = text.split(' ', 5)
  const segmentId = { journal, number: Number(number) }
  return { segmentId, previousSize: Number(previousSize), syncedSize: Number(syncedSize) }
}

/**
 * Finds the index at which the operations begin in the line of a text from `start` to `end`; negative when the line is
 * incomplete or damaged. Avoids a pattern, because every line that is flushed passes here.
 */
function findOperations(text: string, start: number, end: number): number {
  const numberAt = text.indexOf(' ', start) + 1
  const hashAt = text.indexOf(' ', numberAt) + 1
  const hashedAt = text.indexOf(' ', hashAt) + 1
  const operationsAt = text.indexOf(' ', text.indexOf(' ', hashedAt) + 1) + 1
  // The search began again at the start of the text, or went on in the next line.
  if (operationsAt <= hashedAt || operationsAt > end) return -1
  const number = Number(text.slice(numberAt, hashAt))
  const hash = Number(text.slice(hashAt, hashedAt))
  const isIntact = number > 0 && hash === Bun.hash.xxHash32(text.slice(hashedAt, end), number)
  return isIntact ? operationsAt : -1
}

export function segmentPath(database: string, fileNumber: number): string {
  return `${database}-ledger-${fileNumber}`
}

/** The journal files that an earlier process left for a database. */
export function listSegmentFiles(database: string): string[] {
  const prefix = basename(segmentPath(database, 0)).slice(0, -1)
  const folder = dirname(database)
  const names = readdirSync(folder).filter((name) => name.startsWith(prefix))
  return names.filter((name) => /^\d+$/.test(name.slice(prefix.length))).map((name) => join(folder, name))
}

export interface LeftoverFile {
  path: string
  /** Null when the file has no segment. */
  segmentId: SegmentId | null
  /** Bytes of the file that are readable. */
  size: number
  /** Bytes of the previous segment. */
  previousSize: number
  /**
   * Bytes of the segment that were on disk, according to its own lines; more than zero means that the previous segment
   * was on disk, too.
   */
  syncedSize: number
  /** A power cut removed data that was not on disk yet: neither it nor anything after it was acknowledged. */
  isTruncated: boolean
  /** The first line that is unreadable although it was on disk; null when there is none. */
  damagedLine: number | null
}

/**
 * The segment that was begun last in a file. It may be followed by a torn line, which was never acknowledged,
 * and by the rest of an earlier segment. An unreadable line between others was not on disk at the power cut,
 * unless one of the others says that it was.
 */
export function readLeftoverFile(path: string): LeftoverFile {
  // Whatever follows the last line end is torn.
  const texts = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  const read = texts.map(decodeLine)
  const number = read.reduce((latest, line) => Math.max(latest, line?.segmentId.number ?? 0), 0)
  const own = read.slice(0, read.findLastIndex((line) => line?.segmentId.number === number) + 1)
  const bad = own.findIndex((line) => line?.segmentId.number !== number)
  const intactLines = bad < 0 ? own.length : bad
  const size = texts.slice(0, intactLines).reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
  const syncedSize = own.reduce(
    (max, line) => (line?.segmentId.number === number ? Math.max(max, line.syncedSize) : max),
    0,
  )
  const last = own.at(-1)
  return {
    path,
    segmentId: last?.segmentId ?? null,
    size,
    previousSize: last?.previousSize ?? 0,
    syncedSize,
    isTruncated: bad >= 0,
    damagedLine: bad >= 0 && size < syncedSize ? bad + 1 : null,
  }
}

/** Reads the journal files that an earlier process left for a database, ordered by segment number. */
export function readLeftoverFiles(database: string): LeftoverFile[] {
  const number = ({ segmentId }: LeftoverFile) => segmentId?.number ?? 0
  return listSegmentFiles(database)
    .map(readLeftoverFile)
    .sort((a, b) => number(a) - number(b))
}

/** The lines of a segment that is known to be complete. */
export function* readSegmentLines(path: string, size: number): Generator<JournalLine> {
  const text = readPrefix(path, size)
  for (let at = 0, end = 0; at < text.length; at = end + 1) {
    end = text.indexOf('\n', at)
    const operationsAt = end < 0 ? -1 : findOperations(text, at, end)
    if (operationsAt < 0) throw new JournalError(`${path} is damaged at ${at}.`)
    yield* text.slice(operationsAt, end).split('\t')
  }
}

function readPrefix(path: string, size: number): string {
  const bytes = Buffer.allocUnsafe(size)
  const file = openSync(path, 'r')
  try {
    readSync(file, bytes, 0, size, 0)
  } finally {
    closeSync(file)
  }
  return bytes.toString()
}

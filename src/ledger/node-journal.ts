import { unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { newId } from '../platform/crypto/ids.ts'
import { generationColumns } from '../platform/db/generation-table.ts'
import { encodeColumns, type JournalLine } from './journal-line.ts'
import {
  JournalError,
  readLeftoverFiles,
  readSegmentLines,
  SegmentFile,
  type SegmentId,
  segmentPath,
  syncDirectory,
} from './journal-segment.ts'

/** A segment of this size is closed, so that none is too large to be read at once. */
const maxSegmentBytes = 8 * 1024 * 1024
/** One is written and one is flushed; more exist only while the database falls behind. */
const maxFreeFiles = 2

const headerLine = encodeColumns(generationColumns)

/** A segment that was closed. */
export interface JournalFile {
  readonly segmentId: SegmentId
}

/** A segment that an earlier process left. */
export interface LeftoverSegment {
  segmentId: SegmentId
  lines: Iterable<JournalLine>
}

/** What a node has decided and the database does not have yet. */
export interface LeaseJournal {
  readonly id: string
  readonly unflushedBytes: number
  /** Whether the segment is large enough to be closed. */
  readonly isSegmentFull: boolean
  /** What earlier processes left. Throws if data that was on disk is damaged. */
  readLeftovers(): LeftoverSegment[]
  removeLeftovers(): Promise<void>
  /** Call before encoding what is appended. Throws if there can be no segment. */
  prepare(): unknown
  /** Survives the end of this process once it returns. Throws if the disk does not take it. */
  append(lines: readonly JournalLine[]): void
  /** Resolves when what was appended so far survives a power cut. */
  sync(): Promise<void>
  close(flushed: Promise<void>): JournalFile | null
  /** The number of a segment that nothing is written to. */
  skip(): number
  /** The segment is in the database. */
  recycle(segment: JournalFile): Promise<void>
  /** Begins a journal of another name: the present one belongs to the node that took it over. */
  rename(): void
  /** Removes the files that have nothing to recover. */
  end(): Promise<void>
}

/** In files of the data directory. */
export class NodeJournal implements LeaseJournal {
  readonly #basePath: string
  #id = newId('journal')
  #number = 0
  #segment: SegmentFile | null = null
  #previousSize = 0
  #previousSync: Promise<void> = Promise.resolve()
  readonly #free: SegmentFile[] = []
  readonly #closed = new Set<SegmentFile>()
  readonly #recycling = new Set<Promise<void>>()
  #fileCount = 0
  /** Files of earlier processes. */
  #leftovers: string[] = []

  constructor(folder: string) {
    this.#basePath = join(folder, 'node')
  }

  get id(): string {
    return this.#id
  }

  get unflushedBytes(): number {
    let bytes = this.#segment?.size ?? 0
    for (const { size } of this.#closed) bytes += size
    return bytes
  }

  get isSegmentFull(): boolean {
    return (this.#segment?.size ?? 0) > maxSegmentBytes
  }

  readLeftovers(): LeftoverSegment[] {
    const leftovers = readLeftoverFiles(this.#basePath)
    const damaged = leftovers.find(({ damagedLine }) => damagedLine !== null)
    if (damaged)
      throw new JournalError(
        `${damaged.path} is damaged in line ${damaged.damagedLine}. Restore it, or move it away to start without its charges.`,
      )
    this.#leftovers = leftovers.map(({ path }) => path)
    this.#fileCount = Math.max(0, ...this.#leftovers.map(readFileNumber))
    return leftovers.flatMap(({ path, segmentId, size }) =>
      segmentId ? [{ segmentId, lines: readSegmentLines(path, size) }] : [],
    )
  }

  async removeLeftovers(): Promise<void> {
    const paths = this.#leftovers.splice(0)
    for (const path of paths) unlinkSync(path)
    if (paths.length > 0) await syncDirectory(dirname(this.#basePath))
  }

  prepare(): SegmentFile {
    this.#segment ??= this.#begin()
    return this.#segment
  }

  append(lines: readonly JournalLine[]): void {
    const segment = this.prepare()
    segment.append(segment.isEmpty ? [headerLine, ...lines] : lines)
  }

  #begin(): SegmentFile {
    const file = this.#free.pop() ?? new SegmentFile(segmentPath(this.#basePath, ++this.#fileCount))
    this.#restart(file)
    return file
  }

  sync(): Promise<void> {
    return this.#segment?.sync() ?? this.#previousSync
  }

  close(flushed: Promise<void>): SegmentFile | null {
    const segment = this.#segment
    if (!segment || segment.isEmpty) return null
    this.#previousSync = segment.sync().catch(() => flushed)
    // A failure concerns only those that wait for it.
    this.#previousSync.catch(() => undefined)
    this.#previousSize = segment.size
    this.#segment = null
    this.#closed.add(segment)
    return segment
  }

  skip(): number {
    if (!this.#segment) return ++this.#number
    const { number } = this.#segment.segmentId
    this.#restart(this.#segment)
    return number
  }

  #restart(segment: SegmentFile): void {
    segment.begin({ journal: this.#id, number: ++this.#number }, this.#previousSync, this.#previousSize)
  }

  recycle(file: JournalFile): Promise<void> {
    const recycling = this.#recycle(file).finally(() => this.#recycling.delete(recycling))
    this.#recycling.add(recycling)
    return recycling
  }

  async #recycle({ segmentId }: JournalFile): Promise<void> {
    const segment = this.#closed.values().find((closed) => closed.segmentId === segmentId)
    if (!segment) return
    await segment.waitUntilIdle()
    this.#closed.delete(segment)
    const isReusable = segmentId.journal === this.#id && this.#free.length < maxFreeFiles
    if (isReusable) this.#free.push(segment)
    else segment.remove()
  }

  rename(): void {
    // A file has segments of one journal: the highest number in it is its last.
    for (const file of this.#free.splice(0)) file.remove()
    this.#id = newId('journal')
    this.#number = 0
    this.#previousSize = 0
    this.#previousSync = Promise.resolve()
    if (this.#segment) this.#restart(this.#segment)
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#recycling)
    const empty = this.#segment?.isEmpty ? [this.#segment] : []
    if (empty.length > 0) this.#segment = null
    for (const file of [...this.#free.splice(0), ...empty]) {
      await file.waitUntilIdle()
      file.remove()
    }
  }
}

function readFileNumber(path: string): number {
  return Number(/\d+$/.exec(path)?.[0] ?? 0)
}

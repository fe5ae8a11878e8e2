import { unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { generationColumns } from '../db/generation-table.ts'
import { DurableSizes } from './durable-sizes.ts'
import type { FlushThread } from './flush-thread.ts'
import type { JournalSegment, RejectedWrite } from './journal-flusher.ts'
import { encodeColumns, type JournalLine } from './journal-line.ts'
import { findJournalProblem, formatMissingRecords, isFlushed } from './journal-loss.ts'
import {
  JournalError,
  type LeftoverFile,
  readLeftoverFiles,
  readSegmentLines,
  SegmentFile,
  type SegmentId,
  segmentPath,
  syncDirectory,
} from './journal-segment.ts'

/** A piece that has become this long is closed, so that none is too long to be read at once. */
const maxSegmentBytes = 8 * 1024 * 1024
/** With more than this on its way into the database nothing new is begun. */
const maxUnflushedBytes = 1024 * 1024 * 1024

/** One is written and one is read; more were needed only while the database did not follow. */
const maxFreeFiles = 2

const headerLine = encodeColumns(generationColumns)

/** What the meters came to that were touched in a piece. */
type SegmentMeters = Pick<JournalSegment, 'meters' | 'otherDays'>

interface ClosedSegment {
  segment: SegmentFile
  meters: SegmentMeters
  flushed: PromiseWithResolvers<void>
}

export interface JournalOptions {
  thread: FlushThread
  /** Called at the end of a piece. */
  collectMeters: () => SegmentMeters
  now: () => string
  onRejected: (onRejected: RejectedWrite) => void
}

/**
 * What was done and is not in the database yet, in files beside it. What is appended outlives this process at
 * once, and a power cut after `sync`; the database follows, a piece in one transaction.
 */
export class Journal {
  readonly #databasePath: string
  readonly #options: JournalOptions
  readonly #durableSizes: DurableSizes
  #isOpen = false
  /** That was closed, and how long it is. */
  #lastClosed: SegmentId = { journal: '', number: 0 }
  #lastClosedSize = 0
  #segment: SegmentFile | null = null
  /** Files that can be written over, and how many were ever made. */
  readonly #freeFiles: SegmentFile[] = []
  #fileCount = 1
  readonly #closed: ClosedSegment[] = []
  /** When the last piece that was closed is on disk, in its file or in the database. */
  #closedSync: Promise<void> = Promise.resolve()
  #flushing: Promise<void> = Promise.resolve()
  #nextFlush: Promise<void> | null = null

  /** Of the database with this path. */
  constructor(databasePath: string, options: JournalOptions) {
    this.#databasePath = databasePath
    this.#options = options
    this.#durableSizes = new DurableSizes(databasePath)
  }

  get isFull(): boolean {
    return this.#closed.length * maxSegmentBytes > maxUnflushedBytes
  }

  /** Pieces that are closed are on their way into the database. */
  get isFlushing(): boolean {
    return this.#closed.length > 0
  }

  /** What closed pieces change in other days, by the number of the piece, as long as they are not in the database. */
  get unflushedDays(): [number, JournalSegment['otherDays']][] {
    return this.#closed.map(({ segment, meters }) => [segment.segmentId.number, meters.otherDays])
  }

  /** Brings what an earlier process left into the database; `replay` takes it into the book. */
  async recover(replay: (lines: JournalLine[]) => Promise<void>): Promise<void> {
    const { thread, collectMeters, now, onRejected } = this.#options
    const leftovers = await this.#inspectLeftovers()
    for (const [index, { path, segmentId, size }] of leftovers.entries()) {
      // Of a piece that is in the database already nothing matters: a torn line of the next may stand over it.
      if (segmentId && !isFlushed(segmentId, this.#lastClosed)) {
        // Before the fold: once the piece is in the database, nothing tells that its end was cut.
        if (isTruncatedAt(leftovers, index)) await removeFiles(leftovers.splice(index + 1), dirname(path))
        await replay([...readSegmentLines(path, size)])
        const { number } = segmentId
        for (const rejection of await thread.flush(path, { number, size, ...collectMeters(), now: now() }))
          onRejected(rejection)
        this.#lastClosed = segmentId
        this.#lastClosedSize = size
      }
      unlinkSync(path)
    }
    await this.#durableSizes.create()
    await thread.markOpen(true)
    this.#isOpen = true
  }

  /** Everything is looked at before anything is changed. */
  async #inspectLeftovers(): Promise<LeftoverFile[]> {
    const { lastFlushed, isOpen } = await this.#options.thread.state()
    this.#lastClosed = lastFlushed
    const durableSizes = this.#durableSizes.read()
    const leftovers = readLeftoverFiles(this.#databasePath)
    const problem = findJournalProblem({
      databasePath: this.#databasePath,
      lastFlushed,
      leftovers,
      durableSizes,
    })
    if (problem !== null) throw new JournalError(problem)
    if (isOpen && durableSizes === null) throw new JournalError(formatMissingRecords(this.#durableSizes.path))
    return leftovers
  }

  /** To be called before anything is changed that is appended afterwards: the disk may have no room for a file. */
  prepare(): SegmentFile {
    if (this.#segment) return this.#segment
    const file = this.#freeFiles.pop() ?? this.#createFile(this.#fileCount++)
    file.begin(
      { ...this.#lastClosed, number: this.#lastClosed.number + 1 },
      this.#closedSync,
      this.#lastClosedSize,
    )
    this.#segment = file
    return file
  }

  #createFile(fileNumber: number): SegmentFile {
    return new SegmentFile(segmentPath(this.#databasePath, fileNumber), async (segmentId, size, isFirst) => {
      this.#durableSizes.record({ fileNumber, segmentId, size })
      if (isFirst) await this.#durableSizes.sync()
    })
  }

  /** What could not be appended goes first the next time. */
  append(lines: readonly JournalLine[]): void {
    const segment = this.prepare()
    segment.append(segment.isEmpty ? [headerLine, ...lines] : lines)
    if (segment.size > maxSegmentBytes) this.#closeSegment(segment)
  }

  /** Resolves when what was appended until now outlives a power cut: in its file or, should that fail, in the database. */
  async sync(): Promise<void> {
    try {
      await (this.#segment ? this.#segment.sync() : this.#closedSync)
    } catch {
      await this.flush()
    }
  }

  /** Resolves when what was appended until now is in the database; null when it is. */
  flush(): Promise<void> | null {
    if (this.#closed.length === 0 && (this.#segment?.isEmpty ?? true)) return null
    this.#nextFlush ??= this.#flushNext()
    return this.#nextFlush
  }

  /** Leaves no file that holds nothing. What comes all the same goes where the last was written. */
  async close(): Promise<void> {
    const empty = this.#segment?.isEmpty ? [this.#segment] : []
    if (empty.length > 0) this.#segment = null
    for (const file of [...this.#freeFiles.splice(0), ...empty]) {
      await file.waitUntilIdle()
      file.remove()
    }
    if (!this.#isOpen || this.#closed.length > 0 || this.#segment) return
    await this.#options.thread.markOpen(false)
    this.#durableSizes.remove()
    this.#isOpen = false
  }

  async #flushNext(): Promise<void> {
    await this.#flushing.catch(() => undefined)
    this.#nextFlush = null
    this.#flushing = this.#flushAll()
    await this.#flushing
  }

  async #flushAll(): Promise<void> {
    await this.#flushClosed()
    const segment = this.#segment
    if (!segment || segment.isEmpty) return
    // The meters know of everything that was done: so must the piece.
    segment.append([])
    this.#closeSegment(segment)
    await this.#flushClosed()
  }

  #closeSegment(segment: SegmentFile): void {
    const flushed = Promise.withResolvers<void>()
    this.#closed.push({ segment, meters: this.#options.collectMeters(), flushed })
    this.#closedSync = segment.sync().catch(() => flushed.promise)
    this.#lastClosed = segment.segmentId
    this.#lastClosedSize = segment.size
    this.#segment = null
  }

  async #flushClosed(): Promise<void> {
    const { thread, now, onRejected } = this.#options
    for (let first = this.#closed[0]; first; first = this.#closed[0]) {
      const { segment, meters, flushed } = first
      const { path, size } = segment
      const { number } = segment.segmentId
      for (const rejection of await thread.flush(path, { number, size, ...meters, now: now() }))
        onRejected(rejection)
      this.#closed.shift()
      flushed.resolve()
      await this.#recycle(segment)
    }
  }

  async #recycle(file: SegmentFile): Promise<void> {
    await file.waitUntilIdle()
    if (this.#freeFiles.length < maxFreeFiles) this.#freeFiles.push(file)
    else file.remove()
  }
}

/** The last first, so that no number is missing between those that a crash leaves. */
async function removeFiles(files: readonly LeftoverFile[], directory: string): Promise<void> {
  for (const { path } of files.toReversed()) unlinkSync(path)
  await syncDirectory(directory)
}

/**
 * Whether less is there of a piece than there was when the next one was begun. Then a power cut took its end, and
 * nobody was told of anything that came after.
 */
function isTruncatedAt(leftovers: readonly LeftoverFile[], index: number): boolean {
  const [file, next] = [leftovers[index], leftovers[index + 1]]
  if (!file?.segmentId || !next?.segmentId || next.segmentId.number !== file.segmentId.number + 1)
    return false
  return file.isTruncated || file.size < next.previousSize
}

import { unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { generationColumns } from '../platform/db/generation-table.ts'
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

/** A segment of this size is closed, so that none is too large to be read at once. */
const maxSegmentBytes = 8 * 1024 * 1024
/** Limit of unflushed bytes: above it, no new work is accepted. */
const maxUnflushedBytes = 1024 * 1024 * 1024

/** One is written and one is read; more exist only while the database falls behind. */
const maxFreeFiles = 2

const headerLine = encodeColumns(generationColumns)

/** The values of the meters that a segment touched. */
type SegmentMeters = Pick<JournalSegment, 'meters' | 'otherDays'>

interface ClosedSegment {
  segment: SegmentFile
  meters: SegmentMeters
  flushed: PromiseWithResolvers<void>
}

export interface JournalOptions {
  thread: FlushThread
  /** Called at the end of a segment. */
  collectMeters: () => SegmentMeters
  now: () => string
  onRejected: (onRejected: RejectedWrite) => void
  /** Called when a sync of `syncWithin` failed, and the database could not be written either. */
  onSyncError: (error: unknown) => void
}

/**
 * Operations that are not in the database yet, in files next to it. What is appended survives the end of this
 * process at once, and a power cut after `sync`; a segment is then flushed to the database in one
 * transaction.
 */
export class Journal {
  readonly #databasePath: string
  readonly #options: JournalOptions
  readonly #durableSizes: DurableSizes
  #isOpen = false
  /** The segment that was closed last, and its size. */
  #lastClosed: SegmentId = { journal: '', number: 0 }
  #lastClosedSize = 0
  #segment: SegmentFile | null = null
  /** Files that can be overwritten, and how many were ever created. */
  readonly #freeFiles: SegmentFile[] = []
  #fileCount = 1
  readonly #closed: ClosedSegment[] = []
  /** Resolves when the segment that was closed last is on disk, in its file or in the database. */
  #closedSync: Promise<void> = Promise.resolve()
  #syncTimer: Timer | null = null
  #flushing: Promise<void> = Promise.resolve()
  #nextFlush: Promise<void> | null = null

  /** Opens the journal of the database at this path. */
  constructor(databasePath: string, options: JournalOptions) {
    this.#databasePath = databasePath
    this.#options = options
    this.#durableSizes = new DurableSizes(databasePath)
  }

  get isFull(): boolean {
    return this.#closed.length * maxSegmentBytes > maxUnflushedBytes
  }

  get unflushedBytes(): number {
    const open = this.#segment?.size ?? 0
    return this.#closed.reduce((sum, { segment }) => sum + segment.size, open)
  }

  /** Closed segments are being flushed. */
  get isFlushing(): boolean {
    return this.#closed.length > 0
  }

  /** Changes of other days in closed segments, by segment number, until they are in the database. */
  get unflushedDays(): [number, JournalSegment['otherDays']][] {
    return this.#closed.map(({ segment, meters }) => [segment.segmentId.number, meters.otherDays])
  }

  /** Flushes what an earlier process left; `replay` applies it to the ledger state. */
  async recover(replay: (lines: JournalLine[]) => Promise<void>): Promise<void> {
    const { thread, collectMeters, now, onRejected } = this.#options
    const leftovers = await this.#inspectLeftovers()
    for (const [index, { path, segmentId, size }] of leftovers.entries()) {
      // A segment that is already in the database is skipped: a torn line of the next may have overwritten
      // it.
      if (segmentId && !isFlushed(segmentId, this.#lastClosed)) {
        // Before the flush: once the segment is in the database, nothing shows that its end was cut off.
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

  /** Inspects the leftover files: everything is checked before anything is changed. */
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

  /** Call before changing anything that is appended afterwards: the disk may have no space for a file. */
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
    return new SegmentFile(segmentPath(this.#databasePath, fileNumber), (segmentId, size, isFirst) => {
      this.#durableSizes.record({ fileNumber, segmentId, size })
      return isFirst ? this.#durableSizes.sync() : undefined
    })
  }

  /** Appends lines; those that cannot be written now are written first the next time. */
  append(lines: readonly JournalLine[]): void {
    const segment = this.#segment ?? this.prepare()
    segment.append(segment.isEmpty ? [headerLine, ...lines] : lines)
    if (segment.size > maxSegmentBytes) this.#closeSegment(segment)
  }

  /**
   * Resolves when what was appended so far survives a power cut: in its file or, if that fails, in the
   * database.
   */
  sync(): Promise<void> {
    const syncing = this.#segment ? this.#segment.sync() : this.#closedSync
    return syncing.catch(() => this.flush() ?? undefined)
  }

  /** Syncs what was appended so far, at the latest after this time. */
  syncWithin(ms: number): void {
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = null
      this.sync().catch(this.#options.onSyncError)
    }, ms).unref()
  }

  /** Resolves when what was appended so far is in the database; null when it already is. */
  flush(): Promise<void> | null {
    if (this.#closed.length === 0 && (this.#segment?.isEmpty ?? true)) return null
    this.#nextFlush ??= this.#flushNext()
    return this.#nextFlush
  }

  /** Leaves no empty file. Operations that still arrive are written to the last file. */
  async close(): Promise<void> {
    if (this.#syncTimer) clearTimeout(this.#syncTimer)
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
    // The meters include every operation, so the segment must, too.
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

/** Removes files in descending order, so that a crash leaves no gap between the numbers. */
async function removeFiles(files: readonly LeftoverFile[], directory: string): Promise<void> {
  for (const { path } of files.toReversed()) unlinkSync(path)
  await syncDirectory(directory)
}

/**
 * Whether less is left of a segment than there was when the next one began. Then a power cut removed its end,
 * and nothing after it was acknowledged.
 */
function isTruncatedAt(leftovers: readonly LeftoverFile[], index: number): boolean {
  const [file, next] = [leftovers[index], leftovers[index + 1]]
  if (!file?.segmentId || !next?.segmentId || next.segmentId.number !== file.segmentId.number + 1)
    return false
  return file.isTruncated || file.size < next.previousSize
}

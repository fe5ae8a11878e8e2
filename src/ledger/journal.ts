import { unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { DurableSizes } from './durable-sizes.ts'
import type { Piece, Refused } from './fold.ts'
import type { FoldThread } from './fold-thread.ts'
import { isFolded, journalProblem, missingRecordsText } from './journal-loss.ts'
import { columnsLine, type Line } from './line.ts'
import {
  JournalError,
  type Left,
  leftOf,
  type PieceName,
  readPiece,
  SegmentFile,
  segmentPath,
  syncFolder,
} from './segment.ts'
import { generationColumns } from './tables.ts'

/** A piece that has become this long is closed, so that none is too long to be read at once. */
const longBytes = 8 * 1024 * 1024
/** With more than this on its way into the database nothing new is begun. */
const mostBytes = 1024 * 1024 * 1024

/** One is written and one is read; more were needed only while the database did not follow. */
const mostFree = 2

const firstLine = columnsLine(generationColumns)

/** What the meters came to that were touched in a piece. */
type Meters = Pick<Piece, 'meters' | 'otherDays'>

interface Closed {
  segment: SegmentFile
  meters: Meters
  folded: PromiseWithResolvers<void>
}

export interface JournalParts {
  thread: FoldThread
  /** Called at the end of a piece. */
  takeMeters: () => Meters
  now: () => string
  refused: (refused: Refused) => void
}

/**
 * What was done and is not in the database yet, in files beside it. What is appended outlives this process at
 * once, and a power cut after `sync`; the database follows, a piece in one transaction.
 */
export class Journal {
  readonly #path: string
  readonly #parts: JournalParts
  readonly #durable: DurableSizes
  #isOpen = false
  /** That was closed, and how long it is. */
  #last: PieceName = { journal: '', number: 0 }
  #lastSize = 0
  #segment: SegmentFile | null = null
  /** Files that can be written over, and how many were ever made. */
  readonly #free: SegmentFile[] = []
  #made = 1
  readonly #closed: Closed[] = []
  /** When the last piece that was closed is on disk, in its file or in the database. */
  #synced: Promise<void> = Promise.resolve()
  #folding: Promise<void> = Promise.resolve()
  #nextFold: Promise<void> | null = null

  /** Of the database with this path. */
  constructor(path: string, parts: JournalParts) {
    this.#path = path
    this.#parts = parts
    this.#durable = new DurableSizes(path)
  }

  get isFull(): boolean {
    return this.#closed.length * longBytes > mostBytes
  }

  /** Pieces that are closed are on their way into the database. */
  get isFolding(): boolean {
    return this.#closed.length > 0
  }

  /** What closed pieces change in other days, by the number of the piece, as long as they are not in the database. */
  get unfoldedDays(): [number, Piece['otherDays']][] {
    return this.#closed.map(({ segment, meters }) => [segment.piece.number, meters.otherDays])
  }

  /** Brings what an earlier process left into the database; `replay` takes it into the book. */
  async takeUp(replay: (lines: Line[]) => Promise<void>): Promise<void> {
    const { thread, takeMeters, now, refused } = this.#parts
    const left = await this.#findLeft()
    for (const [place, { path, piece, size }] of left.entries()) {
      // Of a piece that is in the database already nothing matters: a torn line of the next may stand over it.
      if (piece && !isFolded(piece, this.#last)) {
        // Before the fold: once the piece is in the database, nothing tells that its end was cut.
        if (isCutAfter(left, place)) await removeFiles(left.splice(place + 1), dirname(path))
        await replay([...readPiece(path, size)])
        const { number } = piece
        for (const one of await thread.fold(path, { number, size, ...takeMeters(), now: now() })) refused(one)
        this.#last = piece
        this.#lastSize = size
      }
      unlinkSync(path)
    }
    await this.#durable.create()
    await thread.markOpen(true)
    this.#isOpen = true
  }

  /** Everything is looked at before anything is changed. */
  async #findLeft(): Promise<Left[]> {
    const { last, isOpen } = await this.#parts.thread.state()
    this.#last = last
    const durable = this.#durable.read()
    const left = leftOf(this.#path)
    const problem = journalProblem({ database: this.#path, last, left, durable })
    if (problem !== null) throw new JournalError(problem)
    if (isOpen && durable === null) throw new JournalError(missingRecordsText(this.#durable.path))
    return left
  }

  /** To be called before anything is changed that is appended afterwards: the disk may have no room for a file. */
  prepare(): SegmentFile {
    if (this.#segment) return this.#segment
    const file = this.#free.pop() ?? this.#newFile(this.#made++)
    file.begin({ ...this.#last, number: this.#last.number + 1 }, this.#synced, this.#lastSize)
    this.#segment = file
    return file
  }

  #newFile(place: number): SegmentFile {
    return new SegmentFile(segmentPath(this.#path, place), async (piece, size, isFirst) => {
      this.#durable.record({ place, piece, size })
      if (isFirst) await this.#durable.sync()
    })
  }

  /** What could not be appended goes first the next time. */
  append(lines: readonly Line[]): void {
    const segment = this.prepare()
    segment.append(segment.isEmpty ? [firstLine, ...lines] : lines)
    if (segment.size > longBytes) this.#close(segment)
  }

  /** Resolves when what was appended until now outlives a power cut: in its file or, should that fail, in the database. */
  async sync(): Promise<void> {
    try {
      await (this.#segment ? this.#segment.sync() : this.#synced)
    } catch {
      await this.folded()
    }
  }

  /** Resolves when what was appended until now is in the database; null when it is. */
  folded(): Promise<void> | null {
    if (this.#closed.length === 0 && (this.#segment?.isEmpty ?? true)) return null
    this.#nextFold ??= this.#foldNext()
    return this.#nextFold
  }

  /** Leaves no file that holds nothing. What comes all the same goes where the last was written. */
  async end(): Promise<void> {
    const empty = this.#segment?.isEmpty ? [this.#segment] : []
    if (empty.length > 0) this.#segment = null
    for (const file of [...this.#free.splice(0), ...empty]) {
      await file.quiet()
      file.remove()
    }
    if (!this.#isOpen || this.#closed.length > 0 || this.#segment) return
    await this.#parts.thread.markOpen(false)
    this.#durable.remove()
    this.#isOpen = false
  }

  async #foldNext(): Promise<void> {
    await this.#folding.catch(() => undefined)
    this.#nextFold = null
    this.#folding = this.#foldAll()
    await this.#folding
  }

  async #foldAll(): Promise<void> {
    await this.#foldClosed()
    const segment = this.#segment
    if (!segment || segment.isEmpty) return
    // The meters know of everything that was done: so must the piece.
    segment.append([])
    this.#close(segment)
    await this.#foldClosed()
  }

  #close(segment: SegmentFile): void {
    const folded = Promise.withResolvers<void>()
    this.#closed.push({ segment, meters: this.#parts.takeMeters(), folded })
    this.#synced = segment.sync().catch(() => folded.promise)
    this.#last = segment.piece
    this.#lastSize = segment.size
    this.#segment = null
  }

  async #foldClosed(): Promise<void> {
    const { thread, now, refused } = this.#parts
    for (let first = this.#closed[0]; first; first = this.#closed[0]) {
      const { segment, meters, folded } = first
      const { path, size } = segment
      const { number } = segment.piece
      for (const one of await thread.fold(path, { number, size, ...meters, now: now() })) refused(one)
      this.#closed.shift()
      folded.resolve()
      await this.#release(segment)
    }
  }

  async #release(file: SegmentFile): Promise<void> {
    await file.quiet()
    if (this.#free.length < mostFree) this.#free.push(file)
    else file.remove()
  }
}

/** The last first, so that no number is missing between those that a crash leaves. */
async function removeFiles(files: readonly Left[], folder: string): Promise<void> {
  for (const { path } of files.toReversed()) unlinkSync(path)
  await syncFolder(folder)
}

/**
 * Whether less is there of a piece than there was when the next one was begun. Then a power cut took its end, and
 * nobody was told of anything that came after.
 */
function isCutAfter(left: readonly Left[], place: number): boolean {
  const [piece, next] = [left[place], left[place + 1]]
  if (!piece?.piece || !next?.piece || next.piece.number !== piece.piece.number + 1) return false
  return piece.isCut || piece.size < next.beforeSize
}

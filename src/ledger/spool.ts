import { existsSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { generationColumns } from '../platform/db/generation-table.ts'
import type { Settlement } from './engine.ts'
import { decodeRecord } from './generation.ts'
import {
  decodeColumns,
  decodeSettlement,
  encodeColumns,
  encodeSpooledSettlement,
  isKnownFormat,
  type JournalLine,
  splitLine,
} from './journal-line.ts'
import {
  JournalError,
  listSegmentFiles,
  readLeftoverFile,
  readSegmentLines,
  SegmentFile,
  segmentPath,
} from './journal-segment.ts'

/** A file of this size is closed, so that it can be removed while others are still written. */
const maxFileBytes = 8 * 1024 * 1024
/** Size above which a settlement waits in memory only: it takes an outage of many hours to get there. */
const maxSpoolBytes = 256 * 1024 * 1024

interface SpoolFile {
  path: string
  bytes: number
  /** The settlements in it that are not delivered. */
  ids: Set<string>
  /** Null when an earlier process wrote it. */
  segment: SegmentFile | null
  /** All of it survives a power cut. */
  isDurable: boolean
  /** The database rejected one of its settlements. */
  isRejected: boolean
}

/**
 * Settlements that wait for an unavailable database, in files of the data directory: a process that ends
 * meanwhile leaves them to the next. Delivering one twice changes nothing, so a file stays until all in it
 * are delivered.
 */
export class Spool {
  readonly #basePath: string
  readonly #log: Logger
  readonly #files = new Set<SpoolFile>()
  /** The file being written. */
  #current: SpoolFile | null = null
  #fileCount = 0

  constructor(folder: string, log: Logger) {
    this.#basePath = join(folder, 'unsent')
    this.#log = log
  }

  /** Settlements that an earlier process left. Each file is removed when all in it are delivered. */
  readLeftovers(): Settlement[] {
    const known = new Set([...this.#files].map(({ path }) => path))
    const leftovers = listSegmentFiles(this.#basePath)
      .filter((path) => !known.has(path))
      .map((path) => ({ path, ...readSettlements(path) }))
    for (const { path, bytes, settlements } of leftovers) {
      this.#fileCount = Math.max(this.#fileCount, Number(/\d+$/.exec(path)?.[0]))
      const ids = new Set(settlements.map(({ id }) => id))
      const file = { path, bytes, ids, segment: null, isDurable: true, isRejected: false }
      this.#files.add(file)
      if (ids.size === 0) this.#finishFile(file)
    }
    return leftovers.flatMap(({ settlements }) => settlements)
  }

  /** Resolves when they are on disk. Settlements that are there already are not written again. */
  async write(settlements: readonly Settlement[]): Promise<void> {
    const fresh = settlements.filter(({ id }) => !this.#isSpooled(id))
    const lines = fresh.map(encodeSpooledSettlement)
    const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)
    const total = this.#files.values().reduce((sum, file) => sum + file.bytes, bytes)
    if (total <= maxSpoolBytes && fresh.length > 0) this.#append(fresh, lines, bytes)
    await this.#sync()
    if (total > maxSpoolBytes)
      throw new Error('the spool is full: too many settlements wait for the database')
  }

  /** Marks settlements that are in the database. */
  markDelivered(settlements: readonly Settlement[]): void {
    for (const file of this.#files) {
      for (const { id } of settlements) file.ids.delete(id)
      if (file.ids.size === 0) this.#finishFile(file)
    }
  }

  /** The database will never accept it: the file that contains it is preserved for the operator. */
  markRejected(settlement: Settlement): void {
    for (const file of this.#files) if (file.ids.has(settlement.id)) file.isRejected = true
    this.markDelivered([settlement])
  }

  #isSpooled(id: string): boolean {
    return this.#files.values().some(({ ids }) => ids.has(id))
  }

  /** Appends lines; those that the disk rejects stay in the segment, and are written first the next time. */
  #append(fresh: readonly Settlement[], lines: readonly JournalLine[], bytes: number): void {
    const { file, segment } = this.#ensureFile()
    for (const { id } of fresh) file.ids.add(id)
    file.bytes += bytes
    file.isDurable = false
    if (file.bytes > maxFileBytes) this.#current = null
    segment.append(segment.isEmpty ? [encodeColumns(generationColumns), ...lines] : lines)
  }

  #ensureFile(): { file: SpoolFile; segment: SegmentFile } {
    if (this.#current?.segment) return { file: this.#current, segment: this.#current.segment }
    const path = segmentPath(this.#basePath, ++this.#fileCount)
    const segment = new SegmentFile(path)
    segment.begin({ journal: 'unsent', number: this.#fileCount }, Promise.resolve(), 0)
    const file = { path, bytes: 0, ids: new Set<string>(), segment, isDurable: false, isRejected: false }
    this.#files.add(file)
    this.#current = file
    return { file, segment }
  }

  async #sync(): Promise<void> {
    const unsynced = [...this.#files].filter(({ isDurable }) => !isDurable)
    for (const { segment } of unsynced) segment?.append([])
    await Promise.all(
      unsynced.map(async (file) => {
        const { bytes } = file
        await file.segment?.sync()
        if (file.bytes === bytes) file.isDurable = true
      }),
    )
  }

  #finishFile(file: SpoolFile): void {
    this.#files.delete(file)
    if (this.#current === file) this.#current = null
    void this.#remove(file).catch((err: unknown) => {
      // The next process delivers it again, which changes nothing.
      this.#log.warn({ err, path: file.path }, 'cannot remove a spool file whose charges are delivered')
    })
  }

  async #remove({ path, segment, isRejected }: SpoolFile): Promise<void> {
    await segment?.waitUntilIdle()
    if (isRejected) {
      const quarantinePath = findUnusedPath(`${path}.refused`)
      renameSync(path, quarantinePath)
      segment?.close()
      this.#log.error(
        { path: quarantinePath },
        'the database rejected a charge: its spool file is preserved under another name',
      )
    } else if (segment) segment.remove()
    else unlinkSync(path)
  }
}

function findUnusedPath(path: string): string {
  for (let count = 1; ; count++) {
    const numbered = `${path}-${count}`
    if (!existsSync(numbered)) return numbered
  }
}

function readSettlements(path: string): { bytes: number; settlements: Settlement[] } {
  const { size, damagedLine } = readLeftoverFile(path)
  if (damagedLine !== null) {
    throw new JournalError(
      `${path} is damaged in line ${damagedLine}. Restore it, or move it away to start without its charges.`,
    )
  }
  let columns: readonly string[] = generationColumns
  const settlements = [...readSegmentLines(path, size)].flatMap((line): Settlement[] => {
    const parts = splitLine(line)
    if (!isKnownFormat(parts)) throw new JournalError(newerVersionMessage(path))
    const { kind, id, rest } = parts
    if (kind === 'columns') columns = decodeColumns(rest)
    if (kind !== 'settle') return []
    const { generation, ...settled } = decodeSettlement(rest)
    return [
      {
        op: 'settle',
        id,
        ...settled,
        generation: generation && decodeRecord(columns, generation),
        isRetry: true,
      },
    ]
  })
  return { bytes: size, settlements }
}

function newerVersionMessage(path: string): string {
  return `${path} was written by a newer version of Headgate: start that version once and stop it, then this one.`
}

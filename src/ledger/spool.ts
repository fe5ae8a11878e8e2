import { existsSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Settle } from './engine.ts'
import { columnsLine, isKnown, type Line, partsOf, readColumns, readSettled, unsentLine } from './line.ts'
import { JournalError, readLeft, readPiece, SegmentFile, segmentPath, segmentsLeft } from './segment.ts'
import { generationColumns, generationDefaults } from './tables.ts'

/** A file that has become this long is closed, so that it can be removed while others are still written. */
const longBytes = 8 * 1024 * 1024
/** Beyond this a settlement waits in memory only: that many come with an outage of many hours. */
const mostBytes = 256 * 1024 * 1024

interface SpoolFile {
  path: string
  bytes: number
  /** Of the settlements in it that are not delivered. */
  ids: Set<string>
  /** Null when an earlier process wrote it. */
  segment: SegmentFile | null
  /** Everything in it outlives a power cut. */
  isDurable: boolean
  /** The database refused one of its settlements. */
  isRefused: boolean
}

/**
 * Settlements that wait for a database that is away, in files of the data directory: a process that ends meanwhile
 * leaves them to the next. Delivering one twice changes nothing, so a file stays until all in it are delivered.
 */
export class Spool {
  readonly #base: string
  readonly #log: Logger
  readonly #files = new Set<SpoolFile>()
  /** The one that is written. */
  #open: SpoolFile | null = null
  #made = 0

  constructor(folder: string, log: Logger) {
    this.#base = join(folder, 'unsent')
    this.#log = log
  }

  /** What an earlier process left. Each file is removed when all in it are done. */
  readLeft(): Settle[] {
    const known = new Set([...this.#files].map(({ path }) => path))
    const left = segmentsLeft(this.#base)
      .filter((path) => !known.has(path))
      .map((path) => ({ path, ...settlementsIn(path) }))
    for (const { path, bytes, settlements } of left) {
      this.#made = Math.max(this.#made, Number(/\d+$/.exec(path)?.[0]))
      const ids = new Set(settlements.map(({ id }) => id))
      const file = { path, bytes, ids, segment: null, isDurable: true, isRefused: false }
      this.#files.add(file)
      if (ids.size === 0) this.#end(file)
    }
    return left.flatMap(({ settlements }) => settlements)
  }

  /** Resolves when they are on disk. Those that are there already are not written again. */
  async keep(settlements: readonly Settle[]): Promise<void> {
    const fresh = settlements.filter(({ id }) => !this.#isKept(id))
    const lines = fresh.map(unsentLine)
    const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)
    const total = this.#files.values().reduce((sum, file) => sum + file.bytes, bytes)
    if (total <= mostBytes && fresh.length > 0) this.#write(fresh, lines, bytes)
    await this.#flush()
    if (total > mostBytes) throw new Error('too many settlements wait for the database to keep more on disk')
  }

  /** They are in the database. */
  done(settlements: readonly Settle[]): void {
    for (const file of this.#files) {
      for (const { id } of settlements) file.ids.delete(id)
      if (file.ids.size === 0) this.#end(file)
    }
  }

  /** The database will never take it: the file that has it is kept for whoever runs the server. */
  refuse(settlement: Settle): void {
    for (const file of this.#files) if (file.ids.has(settlement.id)) file.isRefused = true
    this.done([settlement])
  }

  #isKept(id: string): boolean {
    return this.#files.values().some(({ ids }) => ids.has(id))
  }

  /** What the disk does not take now stays in the segment, and goes first the next time. */
  #write(fresh: readonly Settle[], lines: readonly Line[], bytes: number): void {
    const { file, segment } = this.#writable()
    for (const { id } of fresh) file.ids.add(id)
    file.bytes += bytes
    file.isDurable = false
    if (file.bytes > longBytes) this.#open = null
    segment.append(segment.isEmpty ? [columnsLine(generationColumns), ...lines] : lines)
  }

  #writable(): { file: SpoolFile; segment: SegmentFile } {
    if (this.#open?.segment) return { file: this.#open, segment: this.#open.segment }
    const path = segmentPath(this.#base, ++this.#made)
    const segment = new SegmentFile(path)
    segment.begin({ journal: 'unsent', number: this.#made }, Promise.resolve(), 0)
    const file = { path, bytes: 0, ids: new Set<string>(), segment, isDurable: false, isRefused: false }
    this.#files.add(file)
    this.#open = file
    return { file, segment }
  }

  async #flush(): Promise<void> {
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

  #end(file: SpoolFile): void {
    this.#files.delete(file)
    if (this.#open === file) this.#open = null
    void this.#remove(file).catch((err: unknown) => {
      // The next process delivers it once more, which changes nothing.
      this.#log.warn({ err, path: file.path }, 'a file of delivered charges cannot be removed')
    })
  }

  async #remove({ path, segment, isRefused }: SpoolFile): Promise<void> {
    await segment?.quiet()
    if (isRefused) {
      const aside = unusedPath(`${path}.refused`)
      renameSync(path, aside)
      segment?.close()
      this.#log.error({ path: aside }, 'the database refused a charge: the file that has it is kept aside')
    } else if (segment) segment.remove()
    else unlinkSync(path)
  }
}

function unusedPath(path: string): string {
  for (let count = 1; ; count++) {
    const numbered = `${path}-${count}`
    if (!existsSync(numbered)) return numbered
  }
}

function settlementsIn(path: string): { bytes: number; settlements: Settle[] } {
  const { size, damagedLine } = readLeft(path)
  if (damagedLine !== null) {
    throw new JournalError(
      `${path} is damaged in line ${damagedLine}: move it away to start without what it holds.`,
    )
  }
  let columns: readonly string[] = generationColumns
  const settlements = [...readPiece(path, size)].flatMap((line): Settle[] => {
    const parts = partsOf(line)
    if (!isKnown(parts)) throw new JournalError(newerText(path))
    const { kind, id, rest } = parts
    if (kind === 'columns') columns = readColumns(rest)
    if (kind !== 'settle') return []
    const { generation, ...settled } = readSettled(rest)
    return [
      { op: 'settle', id, ...settled, generation: generation && inOrder(columns, generation), again: true },
    ]
  })
  return { bytes: size, settlements }
}

function newerText(path: string): string {
  return `${path} was written by a newer version of Headgate: start that version once and stop it, then this one.`
}

/** As this version of the program has them: another one may have written the file. */
function inOrder(columns: readonly string[], values: readonly unknown[]): unknown[] {
  return generationColumns.slice(0, -2).map((column) => {
    const place = columns.indexOf(column)
    return place < 0 ? (generationDefaults.get(column) ?? null) : values[place]
  })
}

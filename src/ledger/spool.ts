import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Settle } from './engine.ts'
import { columnsLine, partsOf, readColumns, readSettled, unsentLine } from './line.ts'
import { JournalError, readLeft, readPiece, SegmentFile, segmentPath, segmentsLeft } from './segment.ts'
import { generationColumns } from './tables.ts'

/** Beyond this a settlement waits in memory only: that many come with an outage of many hours. */
const mostBytes = 256 * 1024 * 1024

/** What was read, and the files it is in. */
interface Left {
  settlements: Settle[]
  paths: string[]
}

/**
 * Settlements that wait for a database that is away, in files of the data directory: a process that ends meanwhile
 * leaves them to the next. Delivering one twice changes nothing, so a file stays until all in it are delivered.
 */
export class Spool {
  readonly #base: string
  readonly #waiting = new Set<string>()
  #file: SegmentFile | null = null
  #made = 0

  constructor(folder: string) {
    this.#base = join(folder, 'unsent')
  }

  /** What an earlier process left; `delivered` removes it. */
  readLeft(): Left {
    const paths = segmentsLeft(this.#base)
    this.#made = paths.reduce((most, path) => Math.max(most, Number(/\d+$/.exec(path)?.[0])), 0)
    return { settlements: paths.flatMap(settlementsIn), paths }
  }

  delivered({ paths }: Left): void {
    for (const path of paths) unlinkSync(path)
  }

  /** Resolves when they are on disk. Those that are there already are not written again. */
  async keep(settlements: readonly Settle[]): Promise<void> {
    const fresh = settlements.filter(({ id }) => !this.#waiting.has(id))
    if (fresh.length === 0) return
    const file = this.#file ?? this.#begin()
    if (file.size > mostBytes)
      throw new Error('too many settlements wait for the database to keep more on disk')
    const lines = fresh.map(unsentLine)
    file.append(file.isEmpty ? [columnsLine(generationColumns), ...lines] : lines)
    for (const { id } of fresh) this.#waiting.add(id)
    await file.sync()
  }

  /** They are in the database, or never will be. */
  done(settlements: readonly Settle[]): void {
    for (const { id } of settlements) this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#end()
  }

  #begin(): SegmentFile {
    const file = new SegmentFile(segmentPath(this.#base, ++this.#made))
    file.begin({ journal: 'unsent', number: this.#made }, Promise.resolve(), 0)
    this.#file = file
    return file
  }

  /** A file that cannot be removed is delivered once more by the next process, and changes nothing. */
  #end(): void {
    const file = this.#file
    this.#file = null
    void file
      ?.quiet()
      .then(() => file.remove())
      .catch(() => undefined)
  }
}

function settlementsIn(path: string): Settle[] {
  const { size, damagedLine } = readLeft(path)
  if (damagedLine !== null) {
    throw new JournalError(
      `${path} is damaged in line ${damagedLine}: move it away to start without what it holds.`,
    )
  }
  let columns: readonly string[] = generationColumns
  return [...readPiece(path, size)].flatMap((line): Settle[] => {
    const { kind, id, rest } = partsOf(line)
    if (kind === 'columns') columns = readColumns(rest)
    if (kind !== 'settle') return []
    const { generation, ...settled } = readSettled(rest)
    return [
      { op: 'settle', id, ...settled, generation: generation && inOrder(columns, generation), again: true },
    ]
  })
}

/** As this version of the program has them: another one may have written the file. */
function inOrder(columns: readonly string[], values: readonly unknown[]): unknown[] {
  return generationColumns.slice(0, -2).map((column) => values[columns.indexOf(column)] ?? null)
}

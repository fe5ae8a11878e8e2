import { type Database, type Statement as Prepared, SQLiteError } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { binding, isRefusedData, type Statement } from '../db/batch.ts'
import { newId } from '../lib/ids.ts'
import { type Line, partsOf, readCheckpoint, readColumns, readHold, readSettled } from './line.ts'
import { entriesOf, type Postings, post } from './posting.ts'
import type { PieceName } from './segment.ts'
import {
  addMeterDays,
  bareGeneration,
  generationColumns,
  insertBareGenerations,
  insertEntries,
  insertGenerations,
  insertHolds,
  insertUnrolled,
  insertWith,
  replaceMeters,
} from './tables.ts'

type Rows = readonly (readonly unknown[])[]

/** A piece of the journal, and what the meters it touches came to at its end. */
export interface Piece {
  number: number
  lines: Iterable<Line>
  meters: Rows
  /** What changed in days other than their current ones. */
  otherDays: Rows
  now: string
}

/** What the database knows of its journal. */
export interface JournalState {
  /** The last piece that is there. */
  last: PieceName
  /** A process that used this very file did not come to close its journal. */
  isOpen: boolean
}

/** What the database would not take: the rest is written all the same. */
export interface Refused {
  id: string
  what: 'record' | 'companions'
  message: string
}

type Binding = string | number | bigint | null

/** Which journal is this database's, and the number of its last piece that is here. */
export const journalName = 'ledger_journal'
export const foldedName = 'ledger_folded'
/** Of which file the journal is open: a process that was killed leaves this behind, a copy is another file. */
export const openName = 'ledger_open'

/** Brings pieces of the journal into the tables, each in one transaction and each once. */
export class Folder {
  readonly #database: Database
  readonly #prepared = new Map<string, Prepared<unknown, Binding[]>>()

  constructor(database: Database) {
    this.#database = database
  }

  /** The last piece that is there. */
  get folded(): PieceName {
    const insert = 'insert into instance (name, value) values (?, ?) on conflict do nothing'
    this.#run(insert, [journalName, newId('journal')])
    this.#run(insert, [foldedName, '0'])
    return { journal: this.#fact(journalName), number: this.foldedNumber }
  }

  get foldedNumber(): number {
    return Number(this.#fact(foldedName))
  }

  get state(): JournalState {
    return { last: this.folded, isOpen: this.#find(openName) === this.#file }
  }

  /** Whether files of the journal belong to what is here, until they are closed. */
  markOpen(isOpen: boolean): void {
    if (!isOpen) this.#run('delete from instance where name = ?', [openName])
    else {
      const upsert =
        'insert into instance (name, value) values (?, ?) on conflict (name) do update set value = ?'
      this.#run(upsert, [openName, this.#file, this.#file])
    }
  }

  /** A copy of the database has another number or another birth. */
  get #file(): string {
    const { ino, birthtimeMs } = statSync(this.#database.filename)
    return `${ino} ${birthtimeMs}`
  }

  fold(piece: Piece): Refused[] {
    this.#run('begin immediate')
    try {
      if (!this.#advance(piece.number)) return this.#nothing()
      const refused = new Fold(piece, (sql, values) => this.#run(sql, values)).run()
      this.#run('commit')
      return refused
    } catch (error) {
      if (this.#database.inTransaction) this.#run('rollback')
      throw error
    }
  }

  /** False when it was folded before. */
  #advance(number: number): boolean {
    const mark = this.foldedNumber
    if (mark >= number) return false
    if (mark !== number - 1) throw new Error(`piece ${number} of the journal does not follow ${mark}`)
    this.#run('update instance set value = ? where name = ?', [String(number), foldedName])
    return true
  }

  #nothing(): Refused[] {
    this.#run('rollback')
    return []
  }

  #fact(name: string): string {
    return String(this.#find(name))
  }

  #find(name: string): unknown {
    return this.#statement('select value from instance where name = ?').values(name)[0]?.[0]
  }

  #run(sql: string, values: readonly unknown[] = []): number {
    return this.#statement(sql).run(...(values as Binding[])).changes
  }

  /** There are few texts: each is prepared once. */
  #statement(sql: string): Prepared<unknown, Binding[]> {
    const known = this.#prepared.get(sql)
    if (known) return known
    const statement = this.#database.prepare<unknown, Binding[]>(sql)
    this.#prepared.set(sql, statement)
    return statement
  }
}

type Run = (sql: string, values?: readonly unknown[]) => number

/** One transaction. What was placed and settled within a piece was never there. */
class Fold {
  readonly #piece: Piece
  readonly #run: Run
  /** Holds as the journal has them, and how far their replies came. */
  readonly #placed = new Map<string, string>()
  readonly #noted = new Map<string, string>()
  readonly #postings: Postings = new Map()
  #columns: readonly string[] = generationColumns
  #insert = insertGenerations
  /** Where the values of the columns stand; null: one after the other. */
  #places: readonly number[] | null = null
  readonly #refused: Refused[] = []

  constructor(piece: Piece, run: Run) {
    this.#piece = piece
    this.#run = run
  }

  run(): Refused[] {
    const { lines, meters, otherDays, now } = this.#piece
    for (const line of lines) {
      const { kind, id, rest } = partsOf(line)
      if (kind === 'columns') this.#expect(readColumns(rest))
      else if (kind === 'admit') this.#placed.set(id, rest)
      else if (kind === 'settle') this.#settle(id, rest)
      else this.#noted.set(id, readCheckpoint(rest))
    }
    for (const hold of this.#placed.values()) this.#run(insertHolds.one, readHold(hold).map(binding))
    for (const [id, checkpoint] of this.#noted) {
      this.#run('update holds set checkpoint = ? where id = ?', [checkpoint, id])
    }
    for (const entry of entriesOf(this.#postings, now)) this.#run(insertEntries.one, entry)
    for (const meter of meters) this.#run(replaceMeters.one, meter)
    for (const day of otherDays) this.#run(addMeterDays.one, day)
    return this.#refused
  }

  /** What the journal of another version has and this one does not know is left out. */
  #expect(columns: string[]): void {
    const isKnown = (column: string) => (generationColumns as readonly string[]).includes(column)
    this.#columns = columns.filter(isKnown)
    this.#insert = insertWith(this.#columns)
    const places = columns.flatMap((column, place) => (isKnown(column) ? [place] : []))
    this.#places = places.length === columns.length ? null : places
  }

  #settle(id: string, rest: string): void {
    this.#noted.delete(id)
    if (!this.#placed.delete(id)) this.#run('delete from holds where id = ?', [id])
    const { organizationId, isByok, spent, generation, companions } = readSettled(rest)
    const posting = post(this.#postings, organizationId, isByok, spent.amount)
    if (generation) {
      generation.push(posting, this.#piece.now)
      const recorded = this.#places?.map((place) => generation[place]) ?? generation
      if (this.#record(id, recorded)) this.#run(insertUnrolled.one, [id, organizationId])
    }
    if (companions.length > 0) this.#accompany(id, companions)
  }

  /** A record that is refused is kept without its description: the sums must agree. Says whether it is there. */
  #record(id: string, values: unknown[]): boolean {
    const message = this.#attempt(this.#insert.one, values)
    if (message === null) return true
    this.#refused.push({ id, what: 'record', message })
    return this.#attempt(insertBareGenerations.one, bareGeneration(this.#columns, values)) === null
  }

  #accompany(id: string, companions: readonly Statement[]): void {
    this.#run('savepoint companions')
    for (const { sql, values } of companions) {
      const message = this.#attempt(sql, values.map(binding))
      if (message === null) continue
      this.#refused.push({ id, what: 'companions', message })
      this.#run('rollback to companions')
      break
    }
    this.#run('release companions')
  }

  /** Null when it was done. What is not the database's own trouble is the data's, and will be again. */
  #attempt(sql: string, values: readonly unknown[]): string | null {
    try {
      this.#run(sql, values)
      return null
    } catch (error) {
      if (error instanceof SQLiteError && !isRefusedData(error)) throw error
      return String(error)
    }
  }
}

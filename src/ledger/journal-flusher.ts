import { type Database, type Statement as Prepared, SQLiteError } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { isRejectedData, type Statement, toBinding } from '../db/batch.ts'
import { generationColumns } from '../db/generation-table.ts'
import { newId } from '../lib/ids.ts'
import {
  decodeAdmittedHold,
  decodeCheckpointLine,
  decodeColumns,
  decodeSettlement,
  type JournalLine,
  splitLine,
} from './journal-line.ts'
import type { SegmentId } from './journal-segment.ts'
import { buildEntries, type Postings, postCharge } from './posting.ts'
import {
  addMeterDays,
  createGenerationInsert,
  insertEntries,
  insertGenerations,
  insertHolds,
  insertUnrolled,
  replaceMeters,
  stripGeneration,
} from './tables.ts'

type Rows = readonly (readonly unknown[])[]

/** A piece of the journal, and what the meters it touches came to at its end. */
export interface JournalSegment {
  number: number
  lines: Iterable<JournalLine>
  meters: Rows
  /** What changed in days other than their current ones. */
  otherDays: Rows
  now: string
}

/** What the database knows of its journal. */
export interface JournalState {
  /** The last piece that is there. */
  lastFlushed: SegmentId
  /** A process that used this very file did not come to close its journal. */
  isOpen: boolean
}

/** What the database would not take: the rest is written all the same. */
export interface RejectedWrite {
  id: string
  kind: 'record' | 'companions'
  message: string
}

type Binding = string | number | bigint | null

/** Which journal is this database's, and the number of its last piece that is here. */
export const journalKey = 'ledger_journal'
export const flushedKey = 'ledger_folded'
/** Of which file the journal is open: a process that was killed leaves this behind, a copy is another file. */
export const openKey = 'ledger_open'

/** Brings pieces of the journal into the tables, each in one transaction and each once. */
export class JournalFlusher {
  readonly #database: Database
  readonly #prepared = new Map<string, Prepared<unknown, Binding[]>>()

  constructor(database: Database) {
    this.#database = database
  }

  /** The last piece that is there. */
  get lastFlushed(): SegmentId {
    const insert = 'insert into instance (name, value) values (?, ?) on conflict do nothing'
    this.#run(insert, [journalKey, newId('journal')])
    this.#run(insert, [flushedKey, '0'])
    return { journal: this.#getValue(journalKey), number: this.lastFlushedNumber }
  }

  get lastFlushedNumber(): number {
    return Number(this.#getValue(flushedKey))
  }

  get state(): JournalState {
    return { lastFlushed: this.lastFlushed, isOpen: this.#findValue(openKey) === this.#fileIdentity }
  }

  /** Whether files of the journal belong to what is here, until they are closed. */
  markOpen(isOpen: boolean): void {
    if (!isOpen) this.#run('delete from instance where name = ?', [openKey])
    else {
      const upsert =
        'insert into instance (name, value) values (?, ?) on conflict (name) do update set value = ?'
      this.#run(upsert, [openKey, this.#fileIdentity, this.#fileIdentity])
    }
  }

  /** A copy of the database has another number or another birth. */
  get #fileIdentity(): string {
    const { ino, birthtimeMs } = statSync(this.#database.filename)
    return `${ino} ${birthtimeMs}`
  }

  flush(segment: JournalSegment): RejectedWrite[] {
    this.#run('begin immediate')
    try {
      if (!this.#advance(segment.number)) return this.#rollback()
      const rejected = new SegmentFlush(segment, (sql, values) => this.#run(sql, values)).run()
      this.#run('commit')
      return rejected
    } catch (error) {
      if (this.#database.inTransaction) this.#run('rollback')
      throw error
    }
  }

  /** False when it was folded before. */
  #advance(number: number): boolean {
    const flushed = this.lastFlushedNumber
    if (flushed >= number) return false
    if (flushed !== number - 1) throw new Error(`piece ${number} of the journal does not follow ${flushed}`)
    this.#run('update instance set value = ? where name = ?', [String(number), flushedKey])
    return true
  }

  #rollback(): RejectedWrite[] {
    this.#run('rollback')
    return []
  }

  #getValue(name: string): string {
    return String(this.#findValue(name))
  }

  #findValue(name: string): unknown {
    return this.#prepare('select value from instance where name = ?').values(name)[0]?.[0]
  }

  #run(sql: string, values: readonly unknown[] = []): number {
    return this.#prepare(sql).run(...(values as Binding[])).changes
  }

  /** There are few texts: each is prepared once. */
  #prepare(sql: string): Prepared<unknown, Binding[]> {
    const known = this.#prepared.get(sql)
    if (known) return known
    const statement = this.#database.prepare<unknown, Binding[]>(sql)
    this.#prepared.set(sql, statement)
    return statement
  }
}

type Run = (sql: string, values?: readonly unknown[]) => number

/** One transaction. What was placed and settled within a piece was never there. */
class SegmentFlush {
  readonly #segment: JournalSegment
  readonly #run: Run
  /** Holds as the journal has them, and how far their replies came. */
  readonly #holds = new Map<string, string>()
  readonly #checkpoints = new Map<string, string>()
  readonly #postings: Postings = new Map()
  #columns: readonly string[] = generationColumns
  #insert = insertGenerations
  /** Where the values of the columns stand; null: one after the other. */
  #columnIndexes: readonly number[] | null = null
  readonly #rejected: RejectedWrite[] = []

  constructor(segment: JournalSegment, run: Run) {
    this.#segment = segment
    this.#run = run
  }

  run(): RejectedWrite[] {
    const { lines, meters, otherDays, now } = this.#segment
    for (const line of lines) {
      const { kind, id, rest } = splitLine(line)
      if (kind === 'columns') this.#setColumns(decodeColumns(rest))
      else if (kind === 'admit') this.#holds.set(id, rest)
      else if (kind === 'settle') this.#settle(id, rest)
      else this.#checkpoints.set(id, decodeCheckpointLine(rest))
    }
    for (const hold of this.#holds.values())
      this.#run(insertHolds.singleRow, decodeAdmittedHold(hold).map(toBinding))
    for (const [id, checkpoint] of this.#checkpoints) {
      this.#run('update holds set checkpoint = ? where id = ?', [checkpoint, id])
    }
    for (const entry of buildEntries(this.#postings, now)) this.#run(insertEntries.singleRow, entry)
    for (const meter of meters) this.#run(replaceMeters.singleRow, meter)
    for (const day of otherDays) this.#run(addMeterDays.singleRow, day)
    return this.#rejected
  }

  /** What the journal of another version has and this one does not know is left out. */
  #setColumns(columns: string[]): void {
    const isKnown = (column: string) => (generationColumns as readonly string[]).includes(column)
    this.#columns = columns.filter(isKnown)
    this.#insert = createGenerationInsert(this.#columns)
    const indexes = columns.flatMap((column, place) => (isKnown(column) ? [place] : []))
    this.#columnIndexes = indexes.length === columns.length ? null : indexes
  }

  #settle(id: string, rest: string): void {
    this.#checkpoints.delete(id)
    if (!this.#holds.delete(id)) this.#run('delete from holds where id = ?', [id])
    const { organizationId, isByok, spent, generation, extraStatements } = decodeSettlement(rest)
    const posting = postCharge(this.#postings, organizationId, isByok, spent.amount)
    if (generation) {
      generation.push(posting, this.#segment.now)
      const recorded = this.#columnIndexes?.map((place) => generation[place]) ?? generation
      if (this.#record(id, recorded)) this.#run(insertUnrolled.singleRow, [id, organizationId])
    }
    if (extraStatements.length > 0) this.#runExtraStatements(id, extraStatements)
  }

  /** A record that is refused is kept without its description: the sums must agree. Says whether it is there. */
  #record(id: string, values: unknown[]): boolean {
    const message = this.#tryRun(this.#insert.singleRow, values)
    if (message === null) return true
    this.#rejected.push({ id, kind: 'record', message })
    return this.#tryRun(insertGenerations.singleRow, stripGeneration(this.#columns, values)) === null
  }

  #runExtraStatements(id: string, extraStatements: readonly Statement[]): void {
    this.#run('savepoint companions')
    for (const { sql, values } of extraStatements) {
      const message = this.#tryRun(sql, values.map(toBinding))
      if (message === null) continue
      this.#rejected.push({ id, kind: 'companions', message })
      this.#run('rollback to companions')
      break
    }
    this.#run('release companions')
  }

  /** Null when it was done. What is not the database's own trouble is the data's, and will be again. */
  #tryRun(sql: string, values: readonly unknown[]): string | null {
    try {
      this.#run(sql, values)
      return null
    } catch (error) {
      if (error instanceof SQLiteError && !isRejectedData(error)) throw error
      return String(error)
    }
  }
}

import { type Database, type Statement as Prepared, SQLiteError } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { newId } from '../platform/crypto/ids.ts'
import { isRejectedData, type Statement, toBinding } from '../platform/db/batch.ts'
import { generationColumns } from '../platform/db/generation-table.ts'
import {
  decodeCheckpointLine,
  decodeColumns,
  type JournalLine,
  type SplitLine,
  splitLine,
} from './journal-line.ts'
import type { SegmentId } from './journal-segment.ts'
import { flushedKey, journalKey, openKey } from './ledger-file.ts'
import { buildEntries, type Postings, postCharge } from './posting.ts'
import { SegmentDecoder } from './segment-decoder.ts'
import {
  addMeterDays,
  createGenerationInsert,
  insertEntries,
  insertGenerations,
  insertHolds,
  insertUnrolledAfter,
  replaceMeters,
  stripGeneration,
} from './tables.ts'

type Rows = readonly (readonly unknown[])[]

/** A segment of the journal, and the values of the meters it touches at its end. */
export interface JournalSegment {
  number: number
  lines: Iterable<JournalLine>
  meters: Rows
  /** Changes of days other than the current day of a meter. */
  otherDays: Rows
  now: string
}

/** The state of the journal according to the database. */
export interface JournalState {
  /** The last segment that is in the database. */
  lastFlushed: SegmentId
  /** A process that used this very file did not close its journal. */
  isOpen: boolean
}

/** A write that the database rejected; the rest is written. */
export interface RejectedWrite {
  id: string
  kind: 'record' | 'extra statements'
  message: string
}

type Binding = string | number | bigint | null

/** Applies segments of the journal to the tables, each in one transaction and each once. */
export class JournalFlusher {
  readonly #database: Database
  readonly #prepared = new Map<string, Prepared<unknown, Binding[]>>()

  constructor(database: Database) {
    this.#database = database
  }

  /** The last segment that is in the database. */
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

  /** Marks the journal as open: until it is closed, files of the journal belong to this database. */
  markOpen(isOpen: boolean): void {
    if (!isOpen) this.#run('delete from instance where name = ?', [openKey])
    else {
      const upsert =
        'insert into instance (name, value) values (?, ?) on conflict (name) do update set value = ?'
      this.#run(upsert, [openKey, this.#fileIdentity, this.#fileIdentity])
    }
  }

  /** A copy of the database has another inode number or another time of creation. */
  get #fileIdentity(): string {
    const { ino, birthtimeMs } = statSync(this.#database.filename)
    return `${ino} ${birthtimeMs}`
  }

  flush(segment: JournalSegment): RejectedWrite[] {
    this.#run('begin immediate')
    try {
      if (!this.#advance(segment.number)) return this.#rollback()
      const rejected = new SegmentFlush(segment, this.#lastRow, (sql, values) => this.#run(sql, values)).run()
      this.#run('commit')
      return rejected
    } catch (error) {
      if (this.#database.inTransaction) this.#run('rollback')
      throw error
    }
  }

  /** False when the segment was flushed before. */
  #advance(number: number): boolean {
    const flushed = this.lastFlushedNumber
    if (flushed >= number) return false
    if (flushed !== number - 1) throw new Error(`segment ${number} of the journal does not follow ${flushed}`)
    this.#run('update instance set value = ? where name = ?', [String(number), flushedKey])
    return true
  }

  get #lastRow(): bigint {
    const [[row] = []] = this.#prepare('select max(rowid) from generations').values()
    return BigInt((row as bigint | null) ?? 0)
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

  /** Prepares a statement once: there are few distinct ones. */
  #prepare(sql: string): Prepared<unknown, Binding[]> {
    const known = this.#prepared.get(sql)
    if (known) return known
    const statement = this.#database.prepare<unknown, Binding[]>(sql)
    this.#prepared.set(sql, statement)
    return statement
  }
}

type Run = (sql: string, values?: readonly unknown[]) => number

/** One transaction. A hold that is placed and settled within a segment is never written. */
class SegmentFlush {
  readonly #segment: JournalSegment
  /** The row that was written last before: the rows of this transaction follow it. */
  readonly #lastRow: bigint
  readonly #run: Run
  readonly #decoder = new SegmentDecoder()
  /** Holds as the journal has them, and the checkpoints of their replies. */
  readonly #holds = new Map<string, SplitLine>()
  readonly #checkpoints = new Map<string, string>()
  readonly #postings: Postings = new Map()
  #columns: readonly string[] = generationColumns
  #insert = insertGenerations
  /** Positions of the known columns among the values; null when all are known. */
  #columnIndexes: readonly number[] | null = null
  readonly #rejected: RejectedWrite[] = []

  constructor(segment: JournalSegment, lastRow: bigint, run: Run) {
    this.#segment = segment
    this.#lastRow = lastRow
    this.#run = run
  }

  run(): RejectedWrite[] {
    const { lines, meters, otherDays, now } = this.#segment
    for (const line of lines) this.#apply(line)
    this.#run(insertUnrolledAfter, [this.#lastRow])
    for (const hold of this.#holds.values())
      this.#run(insertHolds.singleRow, this.#decoder.decodeHold(hold).map(toBinding))
    for (const [id, checkpoint] of this.#checkpoints) {
      this.#run('update holds set checkpoint = ? where id = ?', [checkpoint, id])
    }
    for (const entry of buildEntries(this.#postings, now)) this.#run(insertEntries.singleRow, entry)
    for (const meter of meters) this.#run(replaceMeters.singleRow, meter)
    for (const day of otherDays) this.#run(addMeterDays.singleRow, day)
    return this.#rejected
  }

  #apply(text: JournalLine): void {
    const line = splitLine(text)
    const { kind, id, rest } = line
    if (kind === 'settle' || kind === 'charge') this.#settle(line)
    else if (kind === 'admit' || kind === 'repeat') this.#placeHold(line)
    else if (kind === 'note') this.#checkpoints.set(id, decodeCheckpointLine(rest))
    else this.#setColumns(decodeColumns(rest))
  }

  #placeHold(line: SplitLine): void {
    this.#decoder.addHold(line)
    this.#holds.set(line.id, line)
  }

  /** Columns of another version that this one does not know are ignored. */
  #setColumns(columns: string[]): void {
    this.#decoder.setColumns(columns)
    const isKnown = (column: string) => (generationColumns as readonly string[]).includes(column)
    this.#columns = columns.filter(isKnown)
    this.#insert = createGenerationInsert(this.#columns)
    const indexes = columns.flatMap((column, index) => (isKnown(column) ? [index] : []))
    this.#columnIndexes = indexes.length === columns.length ? null : indexes
  }

  #settle(line: SplitLine): void {
    const { id } = line
    this.#checkpoints.delete(id)
    if (!this.#holds.delete(id)) this.#run('delete from holds where id = ?', [id])
    const { organizationId, isByok, spent, generation, extraStatements } =
      this.#decoder.decodeSettlement(line)
    const posting = postCharge(this.#postings, organizationId, isByok, spent.amount)
    if (generation) {
      generation.push(posting, this.#segment.now)
      this.#record(id, generation)
    }
    if (extraStatements.length > 0) this.#runExtraStatements(id, extraStatements)
  }

  /** A rejected record is written without its description, so that the balances agree. */
  #record(id: string, generation: readonly unknown[]): void {
    const values = this.#columnIndexes?.map((index) => generation[index]) ?? generation
    const message = this.#tryRun(this.#insert.singleRow, values)
    if (message === null) return
    this.#rejected.push({ id, kind: 'record', message })
    this.#tryRun(insertGenerations.singleRow, stripGeneration(this.#columns, values))
  }

  #runExtraStatements(id: string, extraStatements: readonly Statement[]): void {
    this.#run('savepoint extra_statements')
    for (const { sql, values } of extraStatements) {
      const message = this.#tryRun(sql, values.map(toBinding))
      if (message === null) continue
      this.#rejected.push({ id, kind: 'extra statements', message })
      this.#run('rollback to extra_statements')
      break
    }
    this.#run('release extra_statements')
  }

  /**
   * Null when it succeeded. An error that is not the fault of the database is the fault of the data, and a
   * retry would fail too.
   */
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

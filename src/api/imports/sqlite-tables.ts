import { Database, SQLiteError } from 'bun:sqlite'
import { maxRows, type Row, SourceError, type Tables, tooManyRowsError } from './source.ts'

const magic = 'SQLite format 3\0'

export function isSqliteFile(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, magic.length)).toString('latin1') === magic
}

/** Reads tables of a SQLite file, which is opened in memory. A step for each row. */
export function* readSqliteTables(bytes: Uint8Array, wanted: Iterable<string>): Generator<void, Tables> {
  let database: Database | undefined
  try {
    database = Database.deserialize(withoutWal(bytes), { readonly: true })
    database.run('pragma trusted_schema = off')
    const tables = new Map<string, Row[]>()
    for (const name of wanted) {
      const rows = yield* readTable(database, name, bytes.length)
      if (rows) tables.set(name, rows)
    }
    return tables
  } catch (error) {
    if (error instanceof SQLiteError)
      throw new SourceError(`The SQLite file cannot be read: ${error.message}.`)
    throw error
  } finally {
    database?.close()
  }
}

/** A database in memory has no write-ahead log: bytes 18 and 19 of the header say whether the file has one. */
function withoutWal(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes)
  copy.fill(1, 18, 20)
  return copy
}

/** Null if it does not exist. Generated columns, which a file could make expensive, are not read. */
function* readTable(database: Database, name: string, maxBytes: number): Generator<void, Row[] | null> {
  const declared = database
    .query<{ sql: string | null }, [string]>(
      `select sql from sqlite_master where type = 'table' and name = ?`,
    )
    .get(name)
  if (!declared || /^\s*create\s+virtual/i.test(declared.sql ?? '')) return null
  const columns = database
    .query<{ name: string }, [string]>(`select name from pragma_table_xinfo(?) where hidden = 0`)
    .all(name)
  const quoted = columns.map((column) => `"${column.name.replaceAll('"', '""')}"`)
  assertHonest(database, name, quoted, maxBytes)
  const rows: Row[] = []
  let length = 0
  const all = `select ${quoted.join(', ')} from "${name}" limit ${maxRows + 1}`
  for (const row of database.query<Row, []>(all).iterate()) {
    for (const value of Object.values(row)) length += lengthOf(value)
    if (length > maxBytes) throw damagedError(name)
    rows.push(row)
    yield
  }
  if (rows.length > maxRows) throw tooManyRowsError(name)
  return rows
}

/**
 * Pages of a damaged file may be part of many rows, or of one row many times. The bytes of a value are known without
 * reading it.
 */
function assertHonest(database: Database, name: string, columns: readonly string[], maxBytes: number): void {
  const size = columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ')
  const found = database
    .query<unknown, [number]>(
      `select 1 from (select ${size} as bytes from "${name}" limit ${maxRows + 1}) where bytes > ? limit 1`,
    )
    .get(maxBytes)
  if (found) throw damagedError(name)
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0
}

function damagedError(table: string): SourceError {
  return new SourceError(`The SQLite file is damaged: ${table} has more than the file.`)
}

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
      const rows = yield* readTable(database, name)
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
function* readTable(database: Database, name: string): Generator<void, Row[] | null> {
  const declared = database
    .query<{ sql: string | null }, [string]>(
      `select sql from sqlite_master where type = 'table' and name = ?`,
    )
    .get(name)
  if (!declared || /^\s*create\s+virtual/i.test(declared.sql ?? '')) return null
  const columns = database
    .query<{ name: string }, [string]>(`select name from pragma_table_xinfo(?) where hidden = 0`)
    .all(name)
  const list = columns.map((column) => `"${column.name.replaceAll('"', '""')}"`).join(', ')
  const rows: Row[] = []
  for (const row of database.query<Row, []>(`select ${list} from "${name}" limit ${maxRows + 1}`).iterate()) {
    rows.push(row)
    yield
  }
  if (rows.length > maxRows) throw tooManyRowsError(name)
  return rows
}

import { CompiledQuery, type Kysely, sql } from 'kysely'
import { type Db, isPostgres } from './db.ts'
import { recordTables } from './migrate/record.ts'

/** A table, and the last number its rows were given, if the database counts them. */
export interface ExportedTable {
  name: string
  sequence: number | null
}

/** Rows of one round trip to PostgreSQL: few, because a stored prompt can be a megabyte. */
const rowsPerFetch = 100

/** Columns that are derived from others: they are not exported, and computed again after a restore. */
const derivedColumns: ReadonlySet<string> = new Set(['search_entry'])

/** Every table with data, parents before the tables that refer to them. */
export async function listTables(db: Db): Promise<ExportedTable[]> {
  const names = (await listTableNames(db)).filter((name) => !recordTables.includes(name))
  const parents = await readParents(db)
  const sequences = await readSequences(db)
  const ordered = new Set<string>()
  const visit = (name: string) => {
    if (ordered.has(name)) return
    for (const parent of parents.get(name) ?? []) if (parent !== name) visit(parent)
    ordered.add(name)
  }
  for (const name of names) visit(name)
  return [...ordered].map((name) => ({ name, sequence: sequences.get(name) ?? null }))
}

/** Tables of any kind, except partitions, whose rows are those of the partitioned table. */
export async function listTableNames(db: Db): Promise<string[]> {
  const { rows } = isPostgres(db)
    ? await sql<{ name: string }>`select relname as name from pg_class
        where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
        order by relname`.execute(db)
    : await sql<{ name: string }>`select name from pragma_table_list
        where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name`.execute(
        db,
      )
  return rows.map(({ name }) => name)
}

/** The tables that a table refers to. */
async function readParents(db: Db): Promise<Map<string, string[]>> {
  const { rows } = isPostgres(db)
    ? await sql<{ name: string; parent: string }>`select child.relname as name, parent.relname as parent
        from pg_constraint join pg_class child on child.oid = conrelid join pg_class parent on parent.oid = confrelid
        where contype = 'f' and child.relnamespace = current_schema()::regnamespace`.execute(db)
    : await sql<{ name: string; parent: string }>`select tables.name, keys."table" as parent
        from sqlite_master tables, pragma_foreign_key_list(tables.name) keys
        where tables.type = 'table'`.execute(db)
  const parents = new Map<string, string[]>()
  for (const { name, parent } of rows) parents.set(name, [...(parents.get(name) ?? []), parent])
  return parents
}

/** The last numbers of tables that count their rows: numbers of deleted rows are not given again. */
async function readSequences(db: Db): Promise<Map<string, number>> {
  const { rows } = isPostgres(db)
    ? await sql<{ name: string; last: number }>`select relname as name, coalesce(last_value, 0) as last
        from pg_sequences join pg_depend on objid = format('%I.%I', schemaname, sequencename)::regclass
        join pg_class on pg_class.oid = refobjid
        where schemaname = current_schema() and deptype = 'i'`.execute(db)
    : await sql<{ name: string; last: number }>`select name, seq as last from sqlite_sequence`.execute(db)
  return new Map(rows.map(({ name, last }) => [name, Number(last)]))
}

/** The rows of a table as lines of JSON, in a form that both databases can load. `db` is a transaction. */
export async function* exportRows(db: Db, table: string): AsyncGenerator<string> {
  // Without plugins: numbers keep all their digits.
  const rows = (db as Kysely<unknown>).withoutPlugins()
  const query = CompiledQuery.raw(`select * from "${table}"`)
  for await (const chunk of rows.getExecutor().stream<Record<string, unknown>>(query, rowsPerFetch))
    for (const row of chunk.rows) yield `${JSON.stringify(encodeRow(row))}\n`
}

/** A value that JSON does not have: bytes in base64, or a number by its digits. */
export type EncodedValue = string | number | { bytes: string } | { number: string }

export type EncodedRow = Record<string, EncodedValue>

/** Empty columns are omitted. */
function encodeRow(row: Record<string, unknown>): EncodedRow {
  const encoded: EncodedRow = {}
  for (const [column, value] of Object.entries(row))
    if (value !== null && !derivedColumns.has(column)) encoded[column] = encodeValue(column, value)
  return encoded
}

function encodeValue(column: string, value: unknown): EncodedValue {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : { number: String(value) }
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : { number: String(value) }
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
  throw new Error(`column ${column} has a value of an unknown type`)
}

import { CompiledQuery, type Kysely, sql } from 'kysely'
import { type Db, isPostgres } from './db.ts'
import { migrateOffline, type OfflineTarget } from './migrate/offline.ts'
import { type EncodedRow, type EncodedValue, type ExportedTable, listTables } from './table-export.ts'

/** Loads the rows of an export into an empty database. `db` is a transaction: an error leaves nothing behind. */
export class TableImport {
  readonly #db: Kysely<unknown>
  readonly #isPostgres: boolean
  readonly #columns = new Map<string, Column[]>()
  #triggers: string[] = []

  constructor(db: Db) {
    this.#isPostgres = isPostgres(db)
    this.#db = (db as Kysely<unknown>).withoutPlugins()
  }

  /** Creates the tables as they were after some migrations, and removes the rows that migrations add. */
  async createTables(target: OfflineTarget): Promise<void> {
    await migrateOffline(this.#db, target)
    await this.#disableTriggers()
    for (const { name } of (await listTables(this.#db as Db)).reverse())
      await sql`delete from ${sql.table(name)}`.execute(this.#db)
  }

  async insert(table: string, rows: readonly EncodedRow[]): Promise<void> {
    const columns = this.#columns.get(table) ?? (await this.#readColumns(table))
    this.#columns.set(table, columns)
    const unknown = rows.flatMap(Object.keys).find((name) => !columns.some((column) => column.name === name))
    if (unknown !== undefined) throw new Error(`table ${table} has no column ${unknown}`)
    if (this.#isPostgres) await this.#insertOnPostgres(table, columns, rows)
    else await this.#insertOnSqlite(table, columns, rows)
  }

  async finish(tables: readonly ExportedTable[]): Promise<void> {
    for (const { name, sequence } of tables) if (sequence !== null) await this.#setSequence(name, sequence)
    for (const trigger of this.#triggers) await sql.raw(trigger).execute(this.#db)
  }

  /** The triggers count changes, and the count is among the rows. */
  async #disableTriggers(): Promise<void> {
    if (this.#isPostgres) {
      const { rows } = await sql<{ name: string }>`select distinct relname as name from pg_trigger
        join pg_class on pg_class.oid = tgrelid
        where not tgisinternal and relnamespace = current_schema()::regnamespace`.execute(this.#db)
      for (const { name } of rows)
        await sql.raw(`alter table "${name}" disable trigger user`).execute(this.#db)
      this.#triggers = rows.map(({ name }) => `alter table "${name}" enable trigger user`)
      return
    }
    const { rows } = await sql<{ name: string; definition: string }>`select name, sql as definition
      from sqlite_master where type = 'trigger'`.execute(this.#db)
    for (const { name } of rows) await sql.raw(`drop trigger "${name}"`).execute(this.#db)
    this.#triggers = rows.map(({ definition }) => definition)
  }

  async #readColumns(table: string): Promise<Column[]> {
    const { rows } = this.#isPostgres
      ? await sql<Column>`select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
          where attrelid = to_regclass(${`"${table}"`}) and attnum > 0 and not attisdropped`.execute(this.#db)
      : await sql<Column>`select name, type from pragma_table_info(${table})`.execute(this.#db)
    if (rows.length === 0) throw new Error(`table ${table} does not exist in this version`)
    return rows
  }

  /** One parameter for all rows: values of their own would be limited to 65,535. */
  async #insertOnPostgres(table: string, columns: Column[], rows: readonly EncodedRow[]): Promise<void> {
    const names = columns.map(({ name }) => `"${name}"`).join(', ')
    const types = columns.map(({ name, type }) => `"${name}" ${type === 'bytea' ? 'text' : type}`).join(', ')
    const values = columns.map(({ name, type }) =>
      type === 'bytea' ? `decode("${name}", 'base64')` : `"${name}"`,
    )
    const json = JSON.stringify(rows.map(toPlainRow))
    await sql`insert into ${sql.table(table)} (${sql.raw(names)}) select ${sql.raw(values.join(', '))}
      from json_to_recordset(${json}::text::json) as exported (${sql.raw(types)})`.execute(this.#db)
  }

  /** Built once for all rows: building a statement takes longer than running it. */
  async #insertOnSqlite(table: string, columns: Column[], rows: readonly EncodedRow[]): Promise<void> {
    const names = columns.map(({ name }) => `"${name}"`).join(', ')
    const text = `insert into "${table}" (${names}) values (${columns.map(() => '?').join(', ')})`
    for (const row of rows) {
      const values = columns.map(({ name }) => decodeValue(row[name]))
      await this.#db.executeQuery(CompiledQuery.raw(text, values))
    }
  }

  async #setSequence(table: string, last: number): Promise<void> {
    if (!this.#isPostgres) {
      await sql`delete from sqlite_sequence where name = ${table}`.execute(this.#db)
      await sql`insert into sqlite_sequence (name, seq) values (${table}, ${last})`.execute(this.#db)
      return
    }
    await sql`select setval(format('%I.%I', sequences.relnamespace::regnamespace, sequences.relname)::regclass,
        ${Math.max(last, 1)}::bigint, ${last > 0}::boolean)
      from pg_depend join pg_class sequences on sequences.oid = objid and sequences.relkind = 'S'
      where refobjid = to_regclass(${`"${table}"`}) and deptype = 'i'`.execute(this.#db)
  }
}

interface Column {
  name: string
  type: string
}

type StoredValue = string | number | bigint | Uint8Array | null

function decodeValue(value: EncodedValue | undefined): StoredValue {
  if (value === undefined) return null
  // The runtime binds a number beyond 32 bits as a float.
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (typeof value === 'string') return value
  if ('bytes' in value) return Buffer.from(value.bytes, 'base64')
  return /^-?\d+$/.test(value.number) ? BigInt(value.number) : Number(value.number)
}

function toPlainRow(row: EncodedRow): Record<string, string | number> {
  const plain: Record<string, string | number> = {}
  for (const [name, value] of Object.entries(row))
    plain[name] = typeof value !== 'object' ? value : 'bytes' in value ? value.bytes : value.number
  return plain
}

import { SQL, type TransactionSQL } from 'bun'
import { rootCauseMessage } from '../../platform/root-cause.ts'
import { maxRows, type Row, SourceError, type Tables, tooManyRowsError } from './source.ts'

const connectSeconds = 10

/** The tables to read, and the columns in whose order. */
export type TableOrders = Readonly<Record<string, string>>

/** Reads tables of a PostgreSQL database in one read-only snapshot. */
export async function readPostgresTables(url: string, tables: TableOrders): Promise<Tables> {
  if (!/^postgres(ql)?:\/\//.test(url))
    throw new SourceError('--database must be an address such as postgres://user@host/database.')
  const database = new SQL(url, { max: 1, connectionTimeout: connectSeconds })
  try {
    return await database.begin('isolation level repeatable read read only', (tx) => readAll(tx, tables))
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw new SourceError(`The database cannot be read: ${rootCauseMessage(error)}`)
  } finally {
    await database.close({ timeout: 1 })
  }
}

async function readAll(tx: TransactionSQL, tables: TableOrders): Promise<Tables> {
  const read = new Map<string, Row[]>()
  for (const [name, order] of Object.entries(tables)) {
    const rows = await readTable(tx, name, order)
    if (rows) read.set(name, rows)
  }
  return read
}

/** As JSON, which has the columns of this version. An older one may lack the table. */
async function readTable(tx: TransactionSQL, name: string, order: string): Promise<Row[] | null> {
  const [present] = await tx.unsafe(`select to_regclass('"${name}"') is not null as known`)
  if (!present.known) return null
  const rows: { row: unknown }[] = await tx.unsafe(
    `select to_jsonb(t)::text as row from "${name}" t order by ${order} limit ${maxRows + 1}`,
  )
  if (rows.length > maxRows) throw tooManyRowsError(name)
  return rows.map((entry) => JSON.parse(String(entry.row)) as Row)
}

import type { ClickHouseClient } from './client.ts'
import { ClickHouseError } from './client.ts'
import { generationRowColumns, generationsTable } from './generation-rows.ts'
import { quoteList, quoteText } from './sql.ts'
import { usageColumns, usageTable } from './usage-table.ts'

/** Which stream the tables belong to, and their layout. */
const streamTable = 'headgate_stream'
/** A change that columns cannot be added for needs another number, and tables of other names. */
const layout = 1

const timeoutMs = 30_000

interface TableLayout {
  name: string
  columns: readonly { name: string; type: string }[]
  partition: string
  order: string
}

/** The row with the highest version of a generation counts. Its arrival is in the key: a query reads the period only. */
const tables: readonly TableLayout[] = [
  {
    name: usageTable,
    columns: usageColumns,
    partition: 'toYYYYMM(time)',
    order: 'organization_id, time, id',
  },
  {
    name: generationsTable,
    columns: generationRowColumns,
    partition: 'toYYYYMM(created_at)',
    order: 'organization_id, created_at, id',
  },
]

/** Creates the tables, and adds the columns that an earlier version did not have. Repeating it changes nothing. */
export async function createTables(client: ClickHouseClient): Promise<void> {
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${streamTable} (stream_id String, layout UInt32, created_at DateTime DEFAULT now())
     ENGINE = MergeTree ORDER BY created_at`,
    { timeoutMs },
  )
  for (const { name, columns, partition, order } of tables) {
    const list = columns.map((column) => `${column.name} ${column.type}`).join(', ')
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${name} (${list})
       ENGINE = ReplacingMergeTree(version, is_deleted) PARTITION BY ${partition} ORDER BY (${order})`,
      { timeoutMs },
    )
    await addColumns(client, name, columns)
  }
}

async function addColumns(client: ClickHouseClient, table: string, columns: TableLayout['columns']) {
  const rows = await client.select(
    `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = ${quoteText(table)}`,
    { timeoutMs },
  )
  const present = new Set(rows.map(([name]) => name))
  for (const { name, type } of columns)
    if (!present.has(name))
      await client.query(`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${name} ${type}`, { timeoutMs })
}

/** The stream that the tables belong to; null if any of them is missing, or they are new. */
export async function readStreamId(client: ClickHouseClient): Promise<string | null> {
  const names = [streamTable, ...tables.map(({ name }) => name)]
  const present = await client.select(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND name IN ${quoteList(names)}`,
    { timeoutMs },
  )
  if (!present.some(([name]) => name === streamTable)) return null
  const rows = await client.select(
    `SELECT stream_id, layout FROM ${streamTable} ORDER BY created_at DESC LIMIT 1`,
    { timeoutMs },
  )
  const [row] = rows
  if (row && Number(row[1]) !== layout)
    throw new ClickHouseError('the tables in ClickHouse were created by another version of Headgate')
  return row && present.length === names.length ? String(row[0]) : null
}

export async function writeStreamId(client: ClickHouseClient, streamId: string): Promise<void> {
  await client.query(
    `INSERT INTO ${streamTable} (stream_id, layout) VALUES (${quoteText(streamId)}, ${layout})`,
    { timeoutMs },
  )
}

/** Deletes the tables with everything in them. */
export async function dropTables(client: ClickHouseClient): Promise<void> {
  for (const name of [streamTable, ...tables.map((table) => table.name)])
    await client.query(`DROP TABLE IF EXISTS ${name} SYNC`, { timeoutMs })
}

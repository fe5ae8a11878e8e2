import { type Kysely, sql } from 'kysely'
import { buildIndex, type IndexDefinition } from './steps.ts'

/** Runs a transaction whose locks are waited for a bounded time. */
type Transact = (work: (tx: Kysely<unknown>) => Promise<unknown>) => Promise<unknown>

/**
 * Builds an index while requests write to its table. One that an interruption left half-built is dropped first. `db` is
 * a connection outside of a transaction.
 */
export async function buildIndexOnline(
  db: Kysely<unknown>,
  index: IndexDefinition,
  transact: Transact,
): Promise<void> {
  if (await isPartitioned(db, index.table)) await buildOnPartitions(db, index, transact)
  else await buildOnTable(db, index)
}

async function buildOnTable(db: Kysely<unknown>, index: IndexDefinition): Promise<void> {
  await cancelBuilds(db, index.table)
  const state = await readIndex(db, index.name)
  if (state?.isValid) return
  if (state) await sql`drop index concurrently ${sql.ref(index.name)}`.execute(db)
  await buildIndex(db, index, { isConcurrent: true }).execute(db)
}

const cancelPollMs = 200

/** The server continues to build an index after the process that began it was killed. */
async function cancelBuilds(db: Kysely<unknown>, table: string): Promise<void> {
  const cancel = () =>
    sql`select pg_cancel_backend(pid) from pg_stat_progress_create_index
      where datname = current_database() and relid = to_regclass(${table})`.execute(db)
  while ((await cancel()).rows.length > 0) await Bun.sleep(cancelPollMs)
}

/**
 * The index of a partitioned table is valid once each partition has its own. Creating it stops writes for a moment, and
 * attaching an index to it every query of the partition.
 */
async function buildOnPartitions(
  db: Kysely<unknown>,
  index: IndexDefinition,
  transact: Transact,
): Promise<void> {
  const state = await readIndex(db, index.name)
  if (state?.isValid) return
  if (!state) await transact((tx) => buildIndex(tx, index, { isOnly: true }).execute(tx))
  for (const partition of await listPartitions(db, index.table)) {
    const name = `${index.name}_${partition}`
    await buildOnTable(db, { ...index, name, table: partition })
    // Attaching one again changes nothing.
    await transact((tx) =>
      sql`alter index ${sql.ref(index.name)} attach partition ${sql.ref(name)}`.execute(tx),
    )
  }
  // PostgreSQL shortens long names, and two partitions would have one index.
  if (!(await readIndex(db, index.name))?.isValid)
    throw new Error(`the index ${index.name} is not on every partition of ${index.table}`)
}

async function readIndex(db: Kysely<unknown>, name: string): Promise<{ isValid: boolean } | undefined> {
  const { rows } = await sql<{ is_valid: boolean }>`select indisvalid as is_valid from pg_index
    where indexrelid = to_regclass(${name})`.execute(db)
  const [row] = rows
  return row && { isValid: row.is_valid }
}

async function isPartitioned(db: Kysely<unknown>, table: string): Promise<boolean> {
  const { rows } =
    await sql`select 1 from pg_class where oid = to_regclass(${table}) and relkind = 'p'`.execute(db)
  return rows.length > 0
}

async function listPartitions(db: Kysely<unknown>, table: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select relname as name
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = to_regclass(${table}) order by relname`.execute(db)
  return rows.map(({ name }) => name)
}

/** How far the server is, such as "building index, 40 %"; null while it builds none. */
export async function readIndexProgress(db: Kysely<unknown>): Promise<string | null> {
  const { rows } = await sql<{ phase: string; done: number; total: number; waits: number }>`
    select phase, greatest(blocks_done, tuples_done)::float8 as done, greatest(blocks_total, tuples_total)::float8 as total,
      lockers_total::float8 as waits
    from pg_stat_progress_create_index where datname = current_database() limit 1`.execute(db)
  const [row] = rows
  if (!row) return null
  const share = row.total > 0 ? `, ${Math.floor((100 * row.done) / row.total)} %` : ''
  return `${row.phase}${row.phase.startsWith('waiting') ? ` (${row.waits} transactions)` : share}`
}

import {
  CompiledQuery,
  type ControlledTransaction,
  Kysely,
  type KyselyPlugin,
  type PluginTransformResultArgs,
  type QueryResult,
  sql,
  type UnknownRow,
} from 'kysely'
import { withDeadline } from '../time/deadline.ts'
import { version } from '../version.ts'
import { ChangeCounter } from './change-counter.ts'
import { usesPostgres } from './has-table.ts'
import { migrateOffline } from './migrate/offline.ts'
import { readRecord } from './migrate/record.ts'
import { BunPostgresDialect, type PostgresOptions } from './postgres.ts'
import { ReadBarrier } from './read-barrier.ts'
import type { Schema } from './schema.ts'
import { BunSqliteDialect } from './sqlite.ts'

/** A database or a transaction in it: queries accept either. */
export type Db = Kysely<Schema>

/** `url` is `postgres://...` or the path of a SQLite file. */
export function openDb(url: string, options: PostgresOptions = {}): Db {
  const changes = new ChangeCounter()
  const barrier = new ReadBarrier()
  const dialect = isPostgresUrl(url)
    ? new BunPostgresDialect(url, changes, barrier, options)
    : new BunSqliteDialect(url, changes, barrier)
  const db = new Kysely<Schema>({ dialect, plugins: [new IntegerPlugin()] })
  changeCounters.set(db, changes)
  readBarriers.set(db, barrier)
  return db
}

const readBarriers = new WeakMap<Db, ReadBarrier>()

/** Makes reads of ledger tables wait for the flush of the journal of this process; `wait` returns null when it is flushed. */
export function setReadBarrier(db: Db, wait: () => Promise<void> | null): void {
  const barrier = readBarriers.get(db)
  if (barrier) barrier.wait = wait
}

/** Reads what every request needs and writes a row: fails when requests could not be served. */
export async function writeProbe(db: Db, now: string): Promise<void> {
  await sql`select hash from api_keys limit 1`.execute(db)
  await db.transaction().execute(async (tx) => {
    // Large enough to need disk space: an update in place succeeds on a full disk.
    for (const value of [now.padEnd(probeBytes), now]) {
      await sql`insert into instance (name, value) values ('probed_at', ${value})
        on conflict (name) do update set value = excluded.value`.execute(tx)
    }
  })
}

const probeBytes = 16_384

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/.test(url)
}

const changeCounters = new WeakMap<Db, ChangeCounter>()

/** The clock of PostgreSQL, in milliseconds. */
export async function readDatabaseTime(db: Db): Promise<number> {
  const { rows } = await sql<{
    ms: number
  }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(db)
  return Number(rows[0]?.ms)
}

/** Reads from one snapshot, without blocking writers. */
export function runInSnapshot<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work)
}

/** Begins such a transaction, which the caller ends with `commit`. */
export function beginSnapshot(db: Db): Promise<ControlledTransaction<Schema>> {
  return db.startTransaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute()
}

const noChanges = { count: 0 }

/** Counts the changes this process makes to account data: after one, the revision that was read before may be stale. */
export function changesOf(db: Db): { readonly count: number } {
  return changeCounters.get(db) ?? noChanges
}

/** Sets the listener that is called after every change of account data by this process. */
export function listenToAccountChanges(db: Db, listener: () => void): void {
  const counter = changeCounters.get(db)
  if (counter) counter.onCount = listener
}

/** Calls the listener after changes of the tables by this process, except those of the ledger. */
export function listenToChanges(db: Db, tables: readonly string[], listener: () => void): void {
  for (const table of tables) changeCounters.get(db)?.listen(table, listener)
}

/** Versions of what every node loads into memory, by their name in `instance`. */
export async function readVersions(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.executeQuery<{ name: string; value: string }>(versionsQuery)
  return new Map(rows.map(({ name, value }) => [name, Number(value)]))
}

/** Read every second, so it is compiled once. */
const versionsQuery = CompiledQuery.raw(
  "select name, value from instance where name in ('catalogue_version', 'benchmarks_version', 'model_lists_version')",
)

/** Grows with every change of account data, by any process. */
export async function readAccountRevision(db: Db): Promise<number> {
  return (await db.selectFrom('account_revision').select('revision').executeTakeFirstOrThrow()).revision
}

export function isPostgres(db: Db): boolean {
  return usesPostgres(db as Kysely<unknown>)
}

/**
 * The two databases return integers differently, sums and counts above all. Here they are unified: columns
 * named `..._nanos` are bigint, because money must be exact; every other integer is a number.
 */
class IntegerPlugin implements KyselyPlugin {
  transformQuery({ node }: Parameters<KyselyPlugin['transformQuery']>[0]) {
    return node
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    for (const row of result.rows) {
      for (const [column, value] of Object.entries(row)) {
        if (column.endsWith('_nanos')) {
          if (typeof value === 'string' || typeof value === 'number') row[column] = BigInt(value)
        } else if (typeof value === 'bigint') row[column] = Number(value)
      }
    }
    return result
  }
}

/** The names of the migrations that have run or begun, in no order. */
export async function readRunMigrations(db: Db): Promise<string[]> {
  const { required, steps } = await readRecord(db as Kysely<unknown>)
  return [...new Set([...required, ...steps.keys()])]
}

const migratedBy = 'migrated_by'

/** The version that migrated the database last; undefined if that version did not record it. */
export async function readMigratedBy(db: Db): Promise<string | undefined> {
  const row = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', migratedBy)
    .executeTakeFirst()
  return row?.value
}

export async function recordMigratedBy(db: Db): Promise<void> {
  await db
    .insertInto('instance')
    .values({ name: migratedBy, value: version })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: version }))
    .execute()
}

/** Runs all migrations in one transaction: nothing else may use the database. */
export async function migrate(db: Db): Promise<string[]> {
  try {
    return await db.transaction().execute((tx) => migrateOffline(tx as Db as Kysely<unknown>))
  } catch (error) {
    throw new Error('The database could not be migrated.', { cause: error })
  }
}

/** An unavailable database cannot be closed cleanly. */
const closeTimeoutMs = 5000

/** Bounded, and never an error: the caller has no further use for it. */
export async function closeDb(db: Db): Promise<void> {
  await withDeadline(
    closeTimeoutMs,
    db.destroy(),
    () => new Error('the database did not close in time'),
  ).catch(() => undefined)
}

const uniqueViolations = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY', '23505'])

/** SQLite's error has a `code`, PostgreSQL's has its state in `errno`. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errno } = error as { code?: unknown; errno?: unknown }
  return uniqueViolations.has(String(code)) || uniqueViolations.has(String(errno))
}

import { sql } from 'kysely'
import { type Db, isPostgres } from './db.ts'

export interface IntegrityProblem {
  /** `damaged`: data may be wrong or lost. `restricted`: it cannot be written. `slow`: queries may be slow. */
  kind: 'damaged' | 'restricted' | 'slow'
  message: string
}

/** Number of problems of a kind that is enough to diagnose it. */
const maxShown = 5

/** What the database itself knows to be wrong. Reads only. */
export function findIntegrityProblems(db: Db): Promise<IntegrityProblem[]> {
  return isPostgres(db) ? findPostgresProblems(db) : findSqliteProblems(db)
}

async function findSqliteProblems(db: Db): Promise<IntegrityProblem[]> {
  const pages = await sql<{ quick_check: string }>`pragma quick_check(${sql.lit(maxShown)})`.execute(db)
  const references = await sql<{ table: string; parent: string }>`select "table", parent
    from pragma_foreign_key_check limit ${sql.lit(maxShown)}`.execute(db)
  const messages = [
    ...pages.rows.map((row) => row.quick_check).filter((text) => text !== 'ok'),
    ...references.rows.map(
      ({ table, parent }) => `a row of ${table} refers to a row of ${parent} that is missing`,
    ),
  ]
  return messages.map((message) => ({ kind: 'damaged', message }))
}

async function findPostgresProblems(db: Db): Promise<IntegrityProblem[]> {
  const state = await sql<{ replica: boolean; read_only: string }>`select pg_is_in_recovery() as replica,
    current_setting('default_transaction_read_only') as read_only`.execute(db)
  const { replica = false, read_only = 'off' } = state.rows[0] ?? {}
  const checksums = await sql<{ failures: number | null }>`select checksum_failures as failures
    from pg_stat_database where datname = current_database()`.execute(db)
  const failures = Number(checksums.rows[0]?.failures ?? 0)
  const indexes = await sql<{ name: string }>`select pg_class.relname as name from pg_index
    join pg_class on pg_class.oid = pg_index.indexrelid
    join pg_namespace on pg_namespace.oid = pg_class.relnamespace
    where not pg_index.indisvalid and pg_namespace.nspname = current_schema()
    order by 1 limit ${sql.lit(maxShown)}`.execute(db)
  const problems: (IntegrityProblem | false)[] = [
    replica && { kind: 'restricted', message: 'it is a replica, which cannot be written' },
    !replica && read_only === 'on' && { kind: 'restricted', message: 'its transactions are read-only' },
    failures > 0 && { kind: 'damaged', message: `PostgreSQL has counted ${failures} checksum failures` },
    ...indexes.rows.map(
      ({ name }): IntegrityProblem => ({ kind: 'slow', message: `the index ${name} is not valid` }),
    ),
  ]
  return problems.filter((problem) => problem !== false)
}

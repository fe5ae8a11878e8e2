import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { usesPostgres } from '../has-table.ts'

type Work = (db: Kysely<unknown>) => Promise<void>

/** Runs in a transaction of its own. Its locks stop requests, so it must take milliseconds whatever is in the tables. */
interface TransactionStep {
  kind: 'transaction'
  title: string
  run: Work
}

/**
 * Runs outside of a transaction on PostgreSQL, for commands that let requests pass: `... CONCURRENTLY`, `VALIDATE
 * CONSTRAINT`. It runs again from its beginning after an interruption, so it must recognize what it has done.
 */
interface OutsideStep {
  kind: 'outside'
  title: string
  run: Work
}

/** An index that is built while requests write to its table. */
interface IndexStep {
  kind: 'index'
  title: string
  index: IndexDefinition
}

export interface IndexDefinition {
  name: string
  table: string
  columns: readonly string[]
  /** In place of `columns` there, such as a hash that SQLite cannot compute. */
  columnsOnPostgres?: readonly string[]
  /** Only in a contract migration, or where all columns are new: the previous version may write duplicates. */
  isUnique?: boolean
  /** The condition of a partial index, as SQL. */
  where?: string
  /** Whether it has the elements of an array; SQLite, which has no arrays, has one of the values. */
  isInverted?: boolean
}

/** Changes rows a batch at a time, each in a transaction with the position that it has reached. */
interface BackfillStep {
  kind: 'backfill'
  title: string
  /** Its rows are the estimate of how many there are. */
  table: string
  /** Changes at most `limit` rows after a position; the first is null. */
  runBatch: (db: Kysely<unknown>, after: string | null, limit: number) => Promise<Batch>
}

export interface Batch {
  /** Where the next batch begins; null when there are no more rows. */
  after: string | null
  rows: number
}

export type Step = TransactionStep | OutsideStep | IndexStep | BackfillStep

/** A change of the schema in steps, each of which is recorded when it is finished. */
export interface SteppedMigration {
  steps: readonly Step[]
  /**
   * For what the previous version could not live with: it runs once every node knows it, and versions that do not know it
   * do not start afterwards.
   */
  contract?: Contract
  /** The reason why the previous version can live with statements that `scripts/migrations.ts` rejects. */
  isCompatibleBecause?: string
}

/**
 * What made it possible: `after`, a migration of an earlier release, whose result this version has used since; or, without
 * one, how this version serves with both schemas.
 */
export type Contract = { after: string } | { servesBoth: string }

/** One with `up` is a single step in a transaction. */
export type SchemaMigration = Migration | SteppedMigration

export function stepsOf(migration: SchemaMigration): readonly Step[] {
  if ('steps' in migration) return migration.steps
  return [{ kind: 'transaction', title: 'change the schema', run: (db) => migration.up(db) }]
}

export function isContract(migration: SchemaMigration): boolean {
  return 'steps' in migration && migration.contract !== undefined
}

export function inTransaction(title: string, run: Work): Step {
  return { kind: 'transaction', title, run }
}

export function outsideTransaction(title: string, run: Work): Step {
  return { kind: 'outside', title, run }
}

export function createIndex(index: IndexDefinition): Step {
  return { kind: 'index', title: `create index ${index.name} on ${index.table}`, index }
}

export function backfill(step: Omit<BackfillStep, 'kind'>): Step {
  return { kind: 'backfill', ...step }
}

export interface Fill {
  table: string
  /** A column with a unique index, of texts: rows are visited in its order. */
  key: string
  /** Assignments, as SQL: `cost_usd = cost_nanos / 1e9`. */
  set: string
  /** The rows to change, as SQL. Those of nodes of the previous version are not changed yet when they are written. */
  where: string
}

/** Sets columns of existing rows. */
export function fillColumns({ table, key, set, where }: Fill): Step {
  const [name, column] = [sql.table(table), sql.ref(key)]
  return backfill({
    title: `fill ${table}: ${set}`,
    table,
    runBatch: async (db, after, limit) => {
      const isAfter = after === null ? sql`true` : sql`${column} > ${after}`
      const { rows } = await sql<{ key: string }>`select ${column} as key from ${name}
        where ${isAfter} order by ${column} limit ${limit}`.execute(db)
      const last = rows.at(-1)?.key
      if (last === undefined) return { after: null, rows: 0 }
      const isInRange = sql`${isAfter} and ${column} <= ${last}`
      await sql`update ${name} set ${sql.raw(set)} where ${isInRange} and (${sql.raw(where)})`.execute(db)
      return { after: rows.length < limit ? null : last, rows: rows.length }
    },
  })
}

/** The statement that creates an index. */
export function buildIndex(
  db: Kysely<unknown>,
  { name, table, columns, columnsOnPostgres, isUnique = false, where, isInverted = false }: IndexDefinition,
  { isConcurrent = false, isOnly = false } = {},
) {
  const words = [
    'create',
    ...(isUnique ? ['unique'] : []),
    'index',
    ...(isConcurrent ? ['concurrently'] : []),
  ]
  const only = isOnly && usesPostgres(db) ? sql`only ` : sql``
  const condition = where === undefined ? sql`` : sql.raw(` where ${where}`)
  const expressions = (usesPostgres(db) && columnsOnPostgres) || columns
  const method = isInverted && usesPostgres(db) ? sql`using gin ` : sql``
  return sql`${sql.raw(words.join(' '))} ${sql.ref(name)} on ${only}${sql.table(table)} ${method}(${sql.raw(expressions.join(', '))})${condition}`
}

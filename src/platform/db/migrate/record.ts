import { type Kysely, sql } from 'kysely'
import { DEFAULT_MIGRATION_LOCK_TABLE, DEFAULT_MIGRATION_TABLE } from 'kysely/migration'
import { hasTable } from '../has-table.ts'
import { lastOfflineMigration, migrations } from '../migrations/all.ts'
import { isContract, stepsOf } from './steps.ts'

const stepsTable = 'migration_steps'

/** Tables of the migrations themselves. */
export const recordTables: readonly string[] = [
  DEFAULT_MIGRATION_TABLE,
  DEFAULT_MIGRATION_LOCK_TABLE,
  stepsTable,
]

/**
 * The migrations of a database. `required` are those that a version has to know to use it: the ones that needed all nodes
 * stopped, and contract migrations, from before their first step on. The steps of the others are in a table of their own, because
 * the previous version, which does not know them, continues to start.
 */
export interface SchemaRecord {
  required: ReadonlySet<string>
  /** Numbers of the finished steps, by migration. */
  steps: ReadonlyMap<string, ReadonlySet<number>>
}

export async function readRecord(db: Kysely<unknown>): Promise<SchemaRecord> {
  const required = new Set<string>()
  const steps = new Map<string, Set<number>>()
  if (!(await hasTable(db, DEFAULT_MIGRATION_TABLE))) return { required, steps }
  const { rows } = await sql<{ name: string }>`select name from ${requiredTable}`.execute(db)
  for (const { name } of rows) required.add(name)
  if (!(await hasTable(db, stepsTable))) return { required, steps }
  const finished = await sql<{ migration: string; step: number }>`select migration, step
    from ${sql.table(stepsTable)} where finished_at is not null`.execute(db)
  for (const { migration, step } of finished.rows)
    steps.set(migration, (steps.get(migration) ?? new Set()).add(Number(step)))
  return { required, steps }
}

const requiredTable = sql.table(DEFAULT_MIGRATION_TABLE)

export interface PendingMigrations {
  isNew: boolean
  /** Needed by this version, while all nodes are stopped. */
  offline: string[]
  /** Needed by this version; nodes of the previous one may serve meanwhile and afterwards. */
  expand: string[]
  /** Not needed, and impossible while nodes of the previous version serve. */
  contract: string[]
  /** Required by the database, and unknown to this version. */
  unknown: string[]
}

export function listPending(record: SchemaRecord): PendingMigrations {
  const names = Object.keys(migrations).sort()
  const unfinished = names.filter((name) => isRolling(name) && nextSteps(record, name).length > 0)
  return {
    isNew: record.required.size === 0,
    offline: names.filter((name) => !isRolling(name) && !record.required.has(name)),
    expand: unfinished.filter((name) => !isContract(migrationOf(name))),
    contract: unfinished.filter((name) => isContract(migrationOf(name))),
    unknown: [...record.required].filter((name) => !Object.hasOwn(migrations, name)).sort(),
  }
}

/** Whether nodes may serve while it runs. */
export function isRolling(name: string): boolean {
  return name > lastOfflineMigration
}

export function migrationOf(name: string) {
  const migration = migrations[name]
  if (!migration) throw new Error(`there is no migration ${name}`)
  return migration
}

/** The numbers of the steps that are not finished. */
export function nextSteps({ steps }: SchemaRecord, name: string): number[] {
  const finished = steps.get(name)
  return [...stepsOf(migrationOf(name)).keys()].filter((step) => !finished?.has(step))
}

export interface SchemaDescription {
  /** The last migration that has begun. */
  schema: string
  /** The number of finished steps of migrations up to it that are not finished, or that this version does not know. */
  unfinished: Record<string, number>
}

export function describeSchema(record: SchemaRecord): SchemaDescription {
  const { required, steps } = record
  const schema = [...required, ...steps.keys()].sort().at(-1) ?? ''
  const { expand, contract } = listPending(record)
  const unknown = [...steps.keys()].filter((name) => !Object.hasOwn(migrations, name))
  const names = [...expand, ...contract, ...unknown].filter((name) => name <= schema)
  return { schema, unfinished: Object.fromEntries(names.map((name) => [name, steps.get(name)?.size ?? 0])) }
}

export async function createRequiredTable(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists ${requiredTable} (
    name varchar(255) not null primary key, timestamp varchar(255) not null)`.execute(db)
}

export async function createStepsTable(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists ${sql.table(stepsTable)} (
    migration text not null, step integer not null, title text not null, position text, changed_rows bigint not null,
    started_at text not null, finished_at text, primary key (migration, step))`.execute(db)
}

/** Versions that do not know a required migration do not start any more. */
export async function requireMigration(db: Kysely<unknown>, name: string): Promise<void> {
  await sql`insert into ${requiredTable} (name, timestamp) values (${name}, ${now()})
    on conflict (name) do nothing`.execute(db)
}

export async function dropRequirement(db: Kysely<unknown>, name: string): Promise<void> {
  await sql`delete from ${requiredTable} where name = ${name}`.execute(db)
}

export interface StepPosition {
  position: string | null
  rows: number
}

/** What an interrupted backfill has reached. */
export async function readPosition(
  db: Kysely<unknown>,
  migration: string,
  step: number,
): Promise<StepPosition> {
  const { rows } = await sql<{ position: string | null; changed_rows: number }>`select position, changed_rows
    from ${sql.table(stepsTable)} where migration = ${migration} and step = ${step}`.execute(db)
  return { position: rows[0]?.position ?? null, rows: Number(rows[0]?.changed_rows ?? 0) }
}

export interface StepRecord {
  migration: string
  step: number
  isFinished: boolean
  position?: string | null
  rows?: number
}

export async function recordStep(
  db: Kysely<unknown>,
  { migration, step, isFinished, position = null, rows = 0 }: StepRecord,
): Promise<void> {
  const title = stepsOf(migrationOf(migration))[step]?.title ?? ''
  const finishedAt = isFinished ? now() : null
  await sql`insert into ${sql.table(stepsTable)}
      (migration, step, title, position, changed_rows, started_at, finished_at)
    values (${migration}, ${step}, ${title}, ${position}, ${rows}, ${now()}, ${finishedAt})
    on conflict (migration, step) do update set position = excluded.position,
      changed_rows = excluded.changed_rows, finished_at = excluded.finished_at`.execute(db)
}

/** The last migration that this version knows. */
export function latestMigration(): string {
  return Object.keys(migrations).sort().at(-1) ?? ''
}

function now(): string {
  return new Date().toISOString()
}

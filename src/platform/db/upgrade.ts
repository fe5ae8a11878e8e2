import { sql } from 'kysely'
import type { Logger } from 'pino'
import { version } from '../version.ts'
import {
  closeDb,
  compareMigrations,
  type Db,
  hasTable,
  isPostgres,
  migrate,
  openDb,
  readMigratedBy,
  recordMigratedBy,
} from './db.ts'

export interface UpgradeOptions {
  url: string
  /** A node whose last heartbeat is older than this has stopped. */
  nodeTimeoutMs: number
  log: Pick<Logger, 'info'>
}

/**
 * Migrates the schema, on a connection of its own: a migration may take longer than a request may wait. Fails
 * while a node runs, because one of the previous version would continue with the old tables.
 */
export async function upgrade(db: Db, { url, nodeTimeoutMs, log }: UpgradeOptions): Promise<void> {
  // In this order: a node that has just migrated sends its first heartbeat afterwards, and leaves nothing pending.
  const running = isPostgres(db) ? await findRunningNode(db, nodeTimeoutMs) : null
  const { pending, unknown, isNew } = await compareMigrations(db)
  await assertNotNewer(db, unknown)
  if (pending.length === 0) return
  if (running) throw new Error(formatRunningNode(running, nodeTimeoutMs))
  const startedAt = performance.now()
  if (!isNew) log.info({ migrations: pending }, 'database migration started')
  const connection = openDb(url, { queryTimeoutMs: null })
  try {
    await migrate(connection)
    await recordMigratedBy(connection)
  } finally {
    await closeDb(connection)
  }
  if (!isNew) log.info({ ms: Math.round(performance.now() - startedAt) }, 'database migration finished')
}

/** A version that does not know all migrations of a database would write to tables that have changed. */
async function assertNotNewer(db: Db, unknown: readonly string[]): Promise<void> {
  const schema = unknown.at(-1)
  if (schema === undefined) return
  const migratedBy = await readMigratedBy(db)
  const by = migratedBy === undefined ? 'a newer version of Headgate' : `Headgate ${migratedBy}`
  throw new Error(
    `it was migrated by ${by} (schema ${schema}), and this is Headgate ${version}. Start ${migratedBy ? `version ${migratedBy}` : 'that version'} or a newer one.`,
  )
}

interface RunningNode {
  id: string
  age_ms: number
}

/** Finds a running node by the clock of the database, which all nodes share. */
async function findRunningNode(db: Db, nodeTimeoutMs: number): Promise<RunningNode | null> {
  if (!(await hasTable(db, 'nodes'))) return null
  const { rows } = await sql<RunningNode>`select id, age_ms from (
      select id, (extract(epoch from clock_timestamp() - cast(seen_at as timestamptz)) * 1000)::bigint as age_ms
      from nodes) as heartbeats
    where abs(age_ms) < ${nodeTimeoutMs} order by age_ms limit 1`.execute(db)
  return rows[0] ?? null
}

function formatRunningNode({ id, age_ms }: RunningNode, nodeTimeoutMs: number): string {
  const toSeconds = (ms: number) => Math.max(0, Math.ceil(ms / 1000))
  const [age, silent, left] = [age_ms, nodeTimeoutMs, nodeTimeoutMs - age_ms].map(toSeconds)
  return `this version has to migrate it, and ${id} is still running (its last heartbeat is ${age} s old). Stop all nodes, then start this version; a node that was killed counts as stopped ${silent} s after its last heartbeat, which is in ${left} s.`
}

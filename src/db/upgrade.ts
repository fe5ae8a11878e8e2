import { sql } from 'kysely'
import type { Logger } from 'pino'
import { closeDb, type Db, findPendingMigrations, isPostgres, migrate, openDb } from './db.ts'

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
  const { pending, isNew } = await findPendingMigrations(db)
  if (pending.length > 0 && running) throw new Error(formatRunningNode(running, nodeTimeoutMs))
  const startedAt = performance.now()
  const isLogged = pending.length > 0 && !isNew
  if (isLogged) log.info({ migrations: pending }, 'database migration started')
  const connection = pending.length > 0 ? openDb(url, null) : db
  try {
    await migrate(connection)
  } finally {
    if (connection !== db) await closeDb(connection)
  }
  if (isLogged) log.info({ ms: Math.round(performance.now() - startedAt) }, 'database migration finished')
}

interface RunningNode {
  id: string
  age_ms: number
}

/** By the clock of the database, which all nodes share. */
async function findRunningNode(db: Db, nodeTimeoutMs: number): Promise<RunningNode | null> {
  const tables = await db.introspection.getTables()
  if (!tables.some(({ name }) => name === 'nodes')) return null
  const { rows } = await sql<RunningNode>`select id, age_ms from (
      select id, (extract(epoch from clock_timestamp() - cast(seen_at as timestamptz)) * 1000)::bigint as age_ms
      from nodes) as heartbeats
    where abs(age_ms) < ${nodeTimeoutMs} order by age_ms limit 1`.execute(db)
  return rows[0] ?? null
}

function formatRunningNode({ id, age_ms }: RunningNode, nodeTimeoutMs: number): string {
  const [age, silent] = [age_ms, nodeTimeoutMs].map((ms) => Math.max(0, Math.round(ms / 1000)))
  return `this version has to migrate it, and ${id} is still running (its last heartbeat is ${age} s old). Stop all nodes, then start this version; a node that was killed counts as stopped ${silent} s after its last heartbeat.`
}

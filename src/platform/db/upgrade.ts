import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import { version } from '../version.ts'
import { closeDb, type Db, isPostgres, migrate, openDb, readMigratedBy, recordMigratedBy } from './db.ts'
import { type LiveNode, listLiveNodes } from './migrate/live-nodes.ts'
import { type MigrationOutcome, migrateOnline, NodesRunningError } from './migrate/online.ts'
import type { MigrationProgress } from './migrate/progress.ts'
import { describeSchema, listPending, type PendingMigrations, readRecord } from './migrate/record.ts'

export interface UpgradeOptions {
  url: string
  /** A node whose last heartbeat is older than this has stopped. */
  nodeTimeoutMs: number
  log: Pick<Logger, 'info'>
}

/**
 * Migrates the schema at a start, unless nodes serve: then it only makes sure that this version can serve with the
 * schema as it is.
 */
export async function upgrade(db: Db, { url, nodeTimeoutMs, log }: UpgradeOptions): Promise<void> {
  // In this order: a node that has just migrated sends its first heartbeat afterwards, and leaves nothing pending.
  const nodes = isPostgres(db) ? await listLiveNodes(db as Kysely<unknown>, nodeTimeoutMs) : []
  const pending = await readPending(db)
  const { isNew, offline, expand, contract } = pending
  if (offline.length + expand.length + contract.length === 0) return
  const [node] = nodes
  if (node) {
    if (offline.length + expand.length > 0)
      throw new Error(await describeMissing(db, pending, node, nodeTimeoutMs))
    log.info({ migrations: contract }, 'run headgate migrate once every node has this version')
    return
  }
  const startedAt = performance.now()
  if (!isNew) log.info({ migrations: [...offline, ...expand, ...contract] }, 'database migration started')
  const progress = createLogProgress(log)
  await runMigrations(url, { nodeTimeoutMs, progress })
  if (!isNew) log.info({ ms: Math.round(performance.now() - startedAt) }, 'database migration finished')
}

export interface RunOptions {
  nodeTimeoutMs: number
  progress: MigrationProgress
}

/** A connection holds the lock, one migrates, one reads the progress; one is spare. */
const migrationPoolSize = 4

/** Migrates on connections of its own: a migration may take longer than a request may wait. */
export async function runMigrations(
  url: string,
  { nodeTimeoutMs, progress }: RunOptions,
): Promise<MigrationOutcome> {
  const db = openDb(url, { queryTimeoutMs: null, poolSize: migrationPoolSize })
  try {
    await readPending(db)
    const outcome = isPostgres(db)
      ? await migrateOnline(db as Kysely<unknown>, { nodeTimeoutMs, progress })
      : { run: await migrate(db), waiting: [] }
    if (outcome.run.length > 0) await recordMigratedBy(db)
    return outcome
  } catch (error) {
    if (!(error instanceof NodesRunningError)) throw error
    throw new Error(formatRunningNode(error.node, nodeTimeoutMs))
  } finally {
    await closeDb(db)
  }
}

/**
 * For a node that has just sent its first heartbeat: a contract migration that did not see it must be seen by it.
 */
export async function assertKnownSchema(db: Db): Promise<void> {
  if (isPostgres(db)) await readPending(db)
}

/** Fails if the database requires migrations that this version does not know. */
export async function readPending(db: Db): Promise<PendingMigrations> {
  const pending = listPending(await readRecord(db as Kysely<unknown>))
  await assertNotNewer(db, pending.unknown)
  return pending
}

/** A version that does not know what a database requires would write to tables that have changed. */
async function assertNotNewer(db: Db, unknown: readonly string[]): Promise<void> {
  const schema = unknown.at(-1)
  if (schema === undefined) return
  const migratedBy = await readMigratedBy(db)
  const by = migratedBy === undefined ? 'a newer version of Headgate' : `Headgate ${migratedBy}`
  throw new Error(
    `it was migrated by ${by} (schema ${schema}), and this is Headgate ${version}. Start ${migratedBy ? `version ${migratedBy}` : 'that version'} or a newer one.`,
  )
}

async function describeMissing(
  db: Db,
  { offline, expand }: PendingMigrations,
  node: LiveNode,
  nodeTimeoutMs: number,
): Promise<string> {
  if (offline.length > 0) return formatRunningNode(node, nodeTimeoutMs)
  const { schema } = describeSchema(await readRecord(db as Kysely<unknown>))
  return `Headgate ${version} needs the migration ${expand.at(-1)}, and the schema is ${schema}. Nodes serve with it (${node.id} is one), so a start does not change it. Run "headgate migrate" of this version, during which they continue to serve, then start it.`
}

function formatRunningNode({ id, ageMs }: LiveNode, nodeTimeoutMs: number): string {
  const toSeconds = (ms: number) => Math.max(0, Math.ceil(ms / 1000))
  const [age, silent, left] = [ageMs, nodeTimeoutMs, nodeTimeoutMs - ageMs].map(toSeconds)
  return `this version has to migrate it, and ${id} is still running (its last heartbeat is ${age} s old). Stop all nodes, then start this version; a node that was killed counts as stopped ${silent} s after its last heartbeat, which is in ${left} s.`
}

/** Steps and waits in the log; not every batch. */
function createLogProgress(log: UpgradeOptions['log']): MigrationProgress {
  return {
    onStep: (step) => log.info(step, 'migration step started'),
    onProgress: () => undefined,
    onWait: (reason) => log.info({ reason }, 'migration waits'),
  }
}

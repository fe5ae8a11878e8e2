import { statSync } from 'node:fs'
import { type RawBuilder, sql } from 'kysely'
import { type Db, isPostgresUrl } from '../../../platform/db/db.ts'

/** Rows of a queue are counted up to here. */
export const maxCounted = 10_000
/** Destinations of the audit log whose distance to its end is summed. */
const maxAuditDestinations = 1000
/** The newest requests that the overhead is computed from. */
const maxSampled = 1000

/** Queries to count: each reads an index, or a table that has only waiting rows. */
const waitingRows = {
  holds: sql`select 1 from holds`,
  rollUps: sql`select 1 from unrolled_generations`,
  clickhouse: sql`select 1 from clickhouse_queue`,
  contents: sql`select 1 from generation_contents where pack is null`,
  notifications: sql`select 1 from notification_deliveries where state = 'pending'`,
  videoJobs: sql`select 1 from video_jobs where due_at is not null`,
  videoWebhooks: sql`select 1 from video_jobs where webhook_due_at is not null`,
  backgroundResponses: sql`select 1 from background_responses`,
} satisfies Record<string, RawBuilder<unknown>>

export type CountedQueue = keyof typeof waitingRows

/** Reads at most one row more than `maxCounted`. */
export async function countWaiting(db: Db, queue: CountedQueue): Promise<number> {
  const rows = sql`${waitingRows[queue]} limit ${maxCounted + 1}`
  const result = await sql<{ count: number }>`select count(*) as count from (${rows}) as waiting`.execute(db)
  return Number(result.rows[0]?.count ?? 0)
}

/** Entries of the audit log that destinations do not have yet. */
export async function countAuditBacklog(db: Db): Promise<number> {
  const rows = await db
    .selectFrom('audit_destinations')
    .innerJoin('audit_chains', 'audit_chains.chain_id', 'audit_destinations.chain_id')
    .select(['audit_chains.seq', 'audit_destinations.position'])
    .where('audit_destinations.enabled', '=', 1)
    .limit(maxAuditDestinations)
    .execute()
  return rows.reduce((sum, { seq, position }) => sum + Math.max(0, seq - position), 0)
}

/** SQLite: with its write-ahead log. */
export async function readDatabaseBytes(db: Db, databaseUrl: string): Promise<number> {
  if (!isPostgresUrl(databaseUrl)) return sumFileBytes([databaseUrl, `${databaseUrl}-wal`])
  const { rows } = await sql<{
    bytes: number
  }>`select pg_database_size(current_database()) as bytes`.execute(db)
  return Number(rows[0]?.bytes ?? 0)
}

function sumFileBytes(paths: string[]): number {
  return paths.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
}

/**
 * Milliseconds from the arrival of a request to its first request to a provider, in ascending order. Requests are left
 * out whose provider failed first, that waited for its rate, or that used plugins or tools: that time includes the time of others.
 */
export async function sampleOverhead(db: Db, since: string): Promise<number[]> {
  const recent = db
    .selectFrom('generations')
    .select(['id', 'dispatch_ms', 'queued_ms', 'attempts', 'ended_at'])
    .where('ended_at', '>', since)
    .orderBy('ended_at', 'desc')
    .limit(maxSampled)
  const rows = await db
    .selectFrom(recent.as('recent'))
    .select('dispatch_ms')
    .where('dispatch_ms', 'is not', null)
    .where('queued_ms', 'is', null)
    .where('attempts', '=', '[]')
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('generation_lines')
            .select('position')
            .whereRef('generation_lines.generation_id', '=', 'recent.id'),
        ),
      ),
    )
    .execute()
  return rows.map(({ dispatch_ms }) => Number(dispatch_ms)).sort((a, b) => a - b)
}

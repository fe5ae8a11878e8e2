import { type Kysely, sql } from 'kysely'

/** How long a migration may stop requests, and how it tries again. */
export interface LockLimits {
  /** Requests for the same table queue behind one that waits for an exclusive lock. */
  lockTimeoutMs: number
  /** Time of a statement that may hold such a lock, its wait included. */
  statementTimeoutMs: number
  /** Requests that have queued are served in between. */
  pauseMs: number
  maxTries: number
}

export const lockLimits: LockLimits = {
  lockTimeoutMs: 2000,
  statementTimeoutMs: 4000,
  pauseMs: 3000,
  maxTries: 60,
}

/** A migration that could not be finished, for reasons that the operator can remove. */
export class MigrationBlockedError extends Error {}

/** Any number, the same for all processes that migrate a database. */
const migrationLock = 5_170_231_044
const lockPollMs = 500

/** Runs `work` while no other process migrates this database. The server frees the lock when the connection ends. */
export async function withMigrationLock<T>(
  db: Kysely<unknown>,
  onWait: (reason: string) => void,
  work: (assertLocked: () => Promise<void>) => Promise<T>,
): Promise<T> {
  return db.connection().execute(async (connection) => {
    await sql`set idle_session_timeout = 0`.execute(connection).catch(() => undefined)
    for (let isReported = false; !(await tryLock(connection)); await Bun.sleep(lockPollMs)) {
      if (!isReported) onWait('another process migrates this database')
      isReported = true
    }
    try {
      // A connection that was replaced has no lock.
      return await work(async () => {
        if (!(await holdsLock(connection))) throw new Error('the connection with the lock was lost')
      })
    } finally {
      await sql`select pg_advisory_unlock(${migrationLock}::bigint)`
        .execute(connection)
        .catch(() => undefined)
    }
  })
}

async function tryLock(connection: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql<{ is_locked: boolean }>`
    select pg_try_advisory_lock(${migrationLock}::bigint) as is_locked`.execute(connection)
  return rows[0]?.is_locked === true
}

async function holdsLock(connection: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
    and granted and ((classid::bigint << 32) | objid::bigint) = ${migrationLock}::bigint`.execute(connection)
  return rows.length > 0
}

/** Runs a transaction whose locks are waited for, and may stop requests, for a bounded time; repeated while it has to wait. */
export async function transactBounded<T>(
  db: Kysely<unknown>,
  { limits, isServed, onWait }: { limits: LockLimits; isServed: boolean; onWait: (reason: string) => void },
  work: (tx: Kysely<unknown>) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction().execute(async (tx) => {
        await setTimeouts(tx, limits, isServed)
        return work(tx)
      })
    } catch (error) {
      if (isStatementTimeout(error)) throw new MigrationBlockedError(formatTooLong(limits))
      if (!isLockTimeout(error)) throw error
      const reason = await describeBlocker(db, limits)
      if (tries >= limits.maxTries) throw new MigrationBlockedError(`${reason}. Run headgate migrate again.`)
      onWait(reason)
      await Bun.sleep(limits.pauseMs)
    }
  }
}

async function setTimeouts(tx: Kysely<unknown>, limits: LockLimits, isServed: boolean): Promise<void> {
  const statementMs = isServed ? limits.statementTimeoutMs : 0
  for (const setting of [`lock_timeout = ${limits.lockTimeoutMs}`, `statement_timeout = ${statementMs}`])
    await sql.raw(`set local ${setting}`).execute(tx)
}

const lockErrors: ReadonlySet<unknown> = new Set(['55P03', '40P01'])
const canceled = '57014'

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && lockErrors.has(error.errno)
}

function isStatementTimeout(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && error.errno === canceled
}

function formatTooLong({ statementTimeoutMs }: LockLimits): string {
  return `A statement took longer than ${statementTimeoutMs / 1000} s, and was undone because requests would have waited for it. Run headgate migrate again when there is less load, or stop all nodes first: then it may take as long as it needs.`
}

/** The oldest other transaction, which most likely has the lock. */
async function describeBlocker(db: Kysely<unknown>, { lockTimeoutMs }: LockLimits): Promise<string> {
  const wait = `a lock was not free within ${lockTimeoutMs / 1000} s`
  const { rows } = await sql<{ pid: number; state: string; seconds: number }>`
    select pid, state, extract(epoch from clock_timestamp() - xact_start)::integer as seconds
    from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
    order by xact_start limit 1`.execute(db)
  const [oldest] = rows
  if (!oldest) return wait
  return `${wait}; the oldest transaction has run for ${oldest.seconds} s (process ${oldest.pid} of PostgreSQL, ${oldest.state})`
}

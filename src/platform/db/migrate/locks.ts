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

/**
 * Runs `work` while no other process migrates this database. The lock is that of a transaction, which a pooler leaves on
 * one connection, and which is free when the connection ends. It has no snapshot in between: no cleanup and no build of
 * an index waits for it.
 */
export async function withMigrationLock<T>(
  db: Kysely<unknown>,
  onWait: (reason: string) => void,
  work: (assertLocked: () => Promise<void>) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const outcome = await runLocked(db, work)
    if (outcome) return outcome.result
    if (tries === 1) onWait('another process migrates this database')
    await Bun.sleep(lockPollMs)
  }
}

/** Null if another process has the lock. The build of an index would wait for a transaction that waits for it. */
async function runLocked<T>(
  db: Kysely<unknown>,
  work: (assertLocked: () => Promise<void>) => Promise<T>,
): Promise<{ result: T } | null> {
  const transaction = db.transaction().setIsolationLevel('read committed')
  return transaction.execute(async (tx) => {
    if (!(await tryLock(tx))) return null
    await endSnapshot(tx)
    // A connection that was replaced has no lock.
    const assertLocked = async () => {
      if (!(await holdsLock(tx))) throw new Error('the connection with the lock was lost')
      await endSnapshot(tx)
    }
    return { result: await work(assertLocked) }
  })
}

/** The result of a query keeps its snapshot until the next statement of the connection: this one needs none. */
async function endSnapshot(tx: Kysely<unknown>): Promise<void> {
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
}

async function tryLock(tx: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql<{ is_locked: boolean }>`
    select pg_try_advisory_xact_lock(${migrationLock}::bigint) as is_locked`.execute(tx)
  return rows[0]?.is_locked === true
}

async function holdsLock(tx: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
    and granted and ((classid::bigint << 32) | objid::bigint) = ${migrationLock}::bigint`.execute(tx)
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

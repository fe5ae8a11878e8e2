import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import { compareVaultKey } from '../../gateway/bootstrap.ts'
import { findMasterSecret } from '../../gateway/data-dir.ts'
import { Vault } from '../../platform/crypto/crypto.ts'
import { closeDb, type Db, isPostgresUrl, openDb } from '../../platform/db/db.ts'
import { findIntegrityProblems, type IntegrityProblem } from '../../platform/db/integrity.ts'
import { readPending } from '../../platform/db/upgrade.ts'
import { rootCauseMessage } from '../../platform/root-cause.ts'
import { withDeadline } from '../../platform/time/deadline.ts'
import { queryTimeoutMs } from '../command.ts'
import { type CheckResult, failed, passed, warned } from './check-result.ts'

export interface CheckedDatabase {
  /** Null unless it could be read. The caller closes it. */
  db: Db | null
  /** Null unless it opens the secrets of this database. */
  vault: Vault | null
  /** Whether its tables are those of this version. */
  isMigrated: boolean
  results: CheckResult[]
}

const check = 'database'
/** A database that takes longer cannot serve requests. */
const connectTimeoutMs = 10_000
const poolSize = 2

/** Opens the database and leaves it as it is: nothing is created, and nothing migrated. */
export async function checkDatabase(config: Config): Promise<CheckedDatabase> {
  const closed = { db: null, vault: null, isMigrated: false }
  const { databaseUrl } = config
  if (!isPostgresUrl(databaseUrl)) {
    if (!existsSync(databaseUrl))
      return { ...closed, results: [passed(check, `The first start of the server creates ${databaseUrl}.`)] }
    if (!isSqliteFile(databaseUrl))
      return {
        ...closed,
        results: [
          failed(
            check,
            `${databaseUrl} is not a SQLite database.`,
            'Correct DATABASE_URL, or restore a backup.',
          ),
        ],
      }
  }
  const startedAt = performance.now()
  const db = openDb(databaseUrl, { queryTimeoutMs, poolSize })
  try {
    await withDeadline(connectTimeoutMs, connect(db, databaseUrl), () => new Error('it does not respond'))
  } catch (error) {
    await closeDb(db)
    return { ...closed, results: [describeUnreachable(databaseUrl, error)] }
  }
  const ms = Math.round(performance.now() - startedAt)
  const reached = passed(check, `${nameOf(databaseUrl)} responds (${ms} ms).`)
  const rest = await checkContents(db, config).catch((error: unknown) => ({
    vault: null,
    isMigrated: false,
    results: [describeUnreadable(error)],
  }))
  return { db, ...rest, results: [reached, ...rest.results] }
}

const header = 'SQLite format 3\0'

/** An empty file or one of another program would be changed by opening it. */
function isSqliteFile(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const start = Buffer.alloc(header.length)
    readSync(file, start, 0, header.length, 0)
    return start.toString('latin1') === header
  } finally {
    closeSync(file)
  }
}

async function connect(db: Db, url: string): Promise<void> {
  await sql`select 1`.execute(db)
  if (!isPostgresUrl(url)) await sql`pragma query_only = 1`.execute(db)
}

function nameOf(url: string): string {
  return isPostgresUrl(url) ? 'PostgreSQL' : url
}

function describeUnreachable(url: string, error: unknown): CheckResult {
  const remedy = isPostgresUrl(url)
    ? 'Check that PostgreSQL runs, that this machine may connect to it, and the address, user and password in DATABASE_URL.'
    : 'Check that this user may read and write the file and its folder. If the file is damaged, restore a backup.'
  return failed(check, `${nameOf(url)} cannot be opened: ${rootCauseMessage(error)}.`, remedy)
}

function describeUnreadable(error: unknown): CheckResult {
  return failed(
    check,
    `The tables cannot be read: ${rootCauseMessage(error)}`,
    'Start the version of Headgate that the database belongs to, or restore a backup.',
  )
}

async function checkContents(db: Db, config: Config): Promise<Omit<CheckedDatabase, 'db'>> {
  const problems = (await findIntegrityProblems(db)).map(describeProblem)
  const integrity =
    problems.length > 0 ? problems : [passed(check, 'The integrity checks of the database found nothing.')]
  const { isNew, offline, expand, contract } = await readPending(db)
  if (isNew) {
    const empty = passed(check, 'The database is empty: the first start of the server creates its tables.')
    return { vault: null, isMigrated: false, results: [...integrity, empty] }
  }
  const isMigrated = offline.length + expand.length === 0
  const key = await checkSecretKey(db, config)
  return {
    vault: key.vault,
    isMigrated,
    results: [...integrity, describePending([...offline, ...expand], contract), ...key.results],
  }
}

const remedies: Record<IntegrityProblem['kind'], string> = {
  damaged:
    'Copy the data directory or the database as it is, then restore the last backup whose check finds nothing: see docs/deploy.md.',
  restricted: 'Set DATABASE_URL to the primary, and allow its user to write.',
  slow: 'If no migration runs, build it again with REINDEX INDEX CONCURRENTLY.',
}

function describeProblem({ kind, message }: IntegrityProblem): CheckResult {
  const report = kind === 'slow' ? warned : failed
  return report(check, `The database has a problem: ${message}.`, remedies[kind])
}

function describePending(required: readonly string[], contract: readonly string[]): CheckResult {
  if (required.length > 0)
    return failed(
      check,
      `This version needs migrations that have not run: ${required.join(', ')}.`,
      'Run "headgate migrate", or start this version: see Upgrade in docs/deploy.md.',
    )
  if (contract.length > 0)
    return warned(
      check,
      `Migrations wait for the last node of the previous version: ${contract.join(', ')}.`,
      'Run "headgate migrate" once every node has this version.',
    )
  return passed(check, 'All migrations have run.')
}

async function checkSecretKey(
  db: Db,
  config: Config,
): Promise<{ vault: Vault | null; results: CheckResult[] }> {
  const secret = findMasterSecret(config.dataDir, config.secretKey)
  const vault = secret === null ? null : new Vault(secret)
  const isMatching = vault && (await compareVaultKey(db, vault))
  if (vault && isMatching === true)
    return { vault, results: [passed(check, 'The secret key is that of this database.')] }
  if (vault && isMatching === null)
    return { vault: null, results: [passed(check, 'The first start of the server notes the secret key.')] }
  const message = vault
    ? 'The secret key is not the one that this database was encrypted with.'
    : `There is no secret key: HEADGATE_SECRET_KEY is not set, and secret.key is not in ${config.dataDir}.`
  const remedy = 'Set HEADGATE_SECRET_KEY to the key of this database, or restore secret.key from a backup.'
  return { vault: null, results: [failed(check, message, remedy)] }
}

import { Database, SQLiteError } from 'bun:sqlite'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { headsFilePath } from '../governance/audit/heads-file.ts'

/** The umask keeps the database, the secret key and uploaded files private to this user. */
export function prepareDataDir(dataDir: string): void {
  process.umask(0o077)
  withDataDirErrors(dataDir, () => mkdirSync(join(dataDir, 'files'), { recursive: true }))
}

/** The directory of a worker has only what no other process may use. */
export function prepareWorkerDir({ nodeDir }: Config): void {
  withDataDirErrors(nodeDir, () => mkdirSync(nodeDir, { recursive: true }))
}

/** The first worker notes the heads of the audit log where commands look for them; the others keep files of their own. */
export function auditHeadsPath({ dataDir, nodeDir, workers }: Config): string {
  return headsFilePath(workers.own === 1 ? dataDir : nodeDir)
}

/** The URL of the running server, for commands that print links to it. */
export function siteFilePath(dataDir: string): string {
  return join(dataDir, 'headgate.url')
}

/** One server per data directory. */
export function lockDataDir(dataDir: string): () => void {
  const pidFile = join(dataDir, 'headgate.pid')
  const readHolderPid = () => (existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : 'unknown')
  const unlock = withDataDirErrors(dataDir, () => tryLockDataDir(dataDir))
  if (!unlock) {
    throw new ConfigError(
      `The data directory ${dataDir} is in use by another Headgate process (pid ${readHolderPid()}). Stop it, or set HEADGATE_DATA_DIR.`,
    )
  }
  withDataDirErrors(dataDir, () => writeFileSync(pidFile, String(process.pid)))
  return unlock
}

/** Undefined while another process uses the directory. */
export function tryLockDataDir(dataDir: string): (() => void) | undefined {
  return tryLockFile(join(dataDir, 'headgate.lock'))
}

/** Undefined while another process has the meters of a SQLite file in memory. */
export function tryLockDatabase(path: string): (() => void) | undefined {
  return tryLockFile(`${path}.lock`)
}

/** One server per SQLite file, wherever it is: the meters in memory are valid only with a single writer. */
export function lockDatabase(path: string): () => void {
  try {
    const unlock = tryLockDatabase(path)
    if (unlock) return unlock
  } catch (error) {
    throw new ConfigError(`Cannot open the database: ${messageOf(error)}`)
  }
  throw new ConfigError(
    `The database ${path} is in use by another Headgate process. Stop that process first.`,
  )
}

/**
 * Undefined when another process holds it. The operating system holds the lock through SQLite, so it ends with
 * the process in every case; a pid file alone would be wrong once the pid is reused.
 */
function tryLockFile(path: string): (() => void) | undefined {
  const lock = new Database(path, { create: true })
  try {
    lock.run('PRAGMA locking_mode=EXCLUSIVE')
    lock.run('BEGIN EXCLUSIVE')
    return () => lock.close()
  } catch (error) {
    lock.close()
    if (error instanceof SQLiteError && error.code === 'SQLITE_BUSY') return undefined
    throw error
  }
}

function withDataDirErrors<T>(dataDir: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw dataDirError(dataDir, error)
  }
}

function dataDirError(dataDir: string, error: unknown): ConfigError {
  return new ConfigError(`Cannot use the data directory ${dataDir}: ${messageOf(error)}.`)
}

/** HEADGATE_SECRET_KEY, or a key generated once and stored in the data directory. */
export function loadMasterSecret(dataDir: string, configured: string | null): string {
  if (configured) return configured
  const path = secretFilePath(dataDir)
  try {
    writeFileSync(path, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (!existsSync(path))
      throw new ConfigError(`Cannot write the secret key file ${path}: ${messageOf(error)}.`)
  }
  return readSecretFile(dataDir)
}

/** The same without generating one: null if there is none yet. */
export function findMasterSecret(dataDir: string, configured: string | null): string | null {
  if (configured) return configured
  return existsSync(secretFilePath(dataDir)) ? readSecretFile(dataDir) : null
}

function readSecretFile(dataDir: string): string {
  const path = secretFilePath(dataDir)
  const secret = withDataDirErrors(dataDir, () => readFileSync(path, 'utf8').trim())
  if (secret.length >= 32) return secret
  throw new ConfigError(`The secret key file ${path} is damaged: it is too short. Restore it from a backup.`)
}

export function secretFilePath(dataDir: string): string {
  return join(dataDir, 'secret.key')
}

/** Null unless the secret key is in a file that other users of the machine can read. */
export function findExposedSecretFile(dataDir: string, configured: string | null): string | null {
  const path = secretFilePath(dataDir)
  const isExposed = process.platform !== 'win32' && !configured && (statSync(path).mode & 0o077) !== 0
  return isExposed ? path : null
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

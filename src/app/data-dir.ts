import { Database, SQLiteError } from 'bun:sqlite'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../config.ts'

/** Everything made in it is for its owner alone: it holds the database, the secret key and uploaded files. */
export function prepareDataDir(dataDir: string): void {
  process.umask(0o077)
  withDataDirErrors(dataDir, () => mkdirSync(join(dataDir, 'files'), { recursive: true }))
}

/** The address of the running server, for commands that print links to it. */
export function siteFilePath(dataDir: string): string {
  return join(dataDir, 'headgate.url')
}

/** One server per data directory. */
export function lockDataDir(dataDir: string): () => void {
  const pidFile = join(dataDir, 'headgate.pid')
  const readHolderPid = () => (existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : 'unknown')
  const unlock = withDataDirErrors(dataDir, () => tryLockFile(join(dataDir, 'headgate.lock')))
  if (!unlock) {
    throw new ConfigError(
      `The data directory ${dataDir} is in use by another Headgate process (pid ${readHolderPid()}).`,
    )
  }
  withDataDirErrors(dataDir, () => writeFileSync(pidFile, String(process.pid)))
  return unlock
}

/** One server per SQLite file, wherever it lies: what it holds in memory is true only while nobody else writes. */
export function lockDatabase(path: string): () => void {
  try {
    const unlock = tryLockFile(`${path}.lock`)
    if (unlock) return unlock
  } catch (error) {
    throw new ConfigError(`The database cannot be used: ${messageOf(error)}`)
  }
  throw new ConfigError(`The database ${path} is in use by another Headgate process.`)
}

/**
 * Undefined when another process has it. The lock is held by the operating system through SQLite, so it ends
 * with the process however that dies; a pid file alone would not survive pids being used again.
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
  return new ConfigError(`The data directory ${dataDir} cannot be used: ${messageOf(error)}.`)
}

/** HEADGATE_SECRET_KEY, or a key made once and kept beside the data. */
export function loadMasterSecret(dataDir: string, configured: string | null): string {
  if (configured) return configured
  const path = secretFilePath(dataDir)
  try {
    writeFileSync(path, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (!existsSync(path))
      throw new ConfigError(`The secret key file ${path} cannot be written: ${messageOf(error)}.`)
  }
  const secret = withDataDirErrors(dataDir, () => readFileSync(path, 'utf8').trim())
  if (secret.length < 32) throw new ConfigError(`The secret key file ${path} is damaged: it is too short.`)
  return secret
}

function secretFilePath(dataDir: string): string {
  return join(dataDir, 'secret.key')
}

/** Null unless the secret key lies in a file that other users of the machine may read. */
export function findExposedSecretFile(dataDir: string, configured: string | null): string | null {
  const path = secretFilePath(dataDir)
  const isExposed = process.platform !== 'win32' && !configured && (statSync(path).mode & 0o077) !== 0
  return isExposed ? path : null
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

import { readFileSync } from 'node:fs'
import { ConfigError, type Environment, readInteger } from './values.ts'

/** A server of ClickHouse that stores all generations for analytics. */
export interface ClickHouseConfig {
  /** As it was set, with its password. */
  url: string
  /** The address of its HTTP interface. */
  origin: string
  username: string
  password: string
  database: string
  /** Certificates of the authorities to trust, as PEM; null for those of the system. */
  ca: string | null
  /** Milliseconds that a query of analytics may take before the roll-ups of the database answer. */
  timeoutMs: number
}

/**
 * Reads the variables; `secrets` are the same, of which each may also come from a file. The URL is in no message: it
 * contains a password.
 */
export function readClickHouse(environment: Environment, secrets: Environment): ClickHouseConfig | null {
  const text = secrets.CLICKHOUSE_URL
  if (!text) return null
  const url = URL.canParse(text) ? new URL(text) : null
  const database = url?.pathname.slice(1) || 'default'
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || !/^\w{1,100}$/.test(database))
    throw new ConfigError(
      'CLICKHOUSE_URL must be the URL of the HTTP interface of ClickHouse, such as https://user:password@host:8443/database.',
    )
  const { CLICKHOUSE_CA_FILE: caFile } = environment
  return {
    url: text,
    origin: url.origin,
    username: decodePart(url.username) || 'default',
    password: decodePart(url.password),
    database,
    ca: caFile ? readCaFile(caFile) : null,
    timeoutMs: readInteger('CLICKHOUSE_TIMEOUT_MS', environment.CLICKHOUSE_TIMEOUT_MS, 5000, [100, 60_000]),
  }
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ConfigError('The user name and the password in CLICKHOUSE_URL must be percent-encoded.')
  }
}

function readCaFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new ConfigError(`CLICKHOUSE_CA_FILE names a file that cannot be read: ${path}.`)
  }
}

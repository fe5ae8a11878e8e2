import { ConfigError, type Environment, readInteger } from './values.ts'

/** A streaming replica of the database, which analytics are read from. */
export interface ReplicaConfig {
  /** As it was set, with its password. */
  url: string
  /** Milliseconds that it may be behind; with more, the database answers. */
  maxLagMs: number
}

/** Reads the variables; `secrets` are the same, of which each may also come from a file. The URL is in no message. */
export function readReplica(
  environment: Environment,
  secrets: Environment,
  databaseUrl: string,
): ReplicaConfig | null {
  const url = secrets.DATABASE_REPLICA_URL
  if (!url) return null
  if (!URL.canParse(url) || !isPostgresUrl(url))
    throw new ConfigError('DATABASE_REPLICA_URL must be a URL that starts with postgres:// or postgresql://.')
  if (!isPostgresUrl(databaseUrl))
    throw new ConfigError('DATABASE_REPLICA_URL needs a DATABASE_URL of PostgreSQL: SQLite has no replicas.')
  const { DATABASE_REPLICA_MAX_LAG_MS: maxLag } = environment
  return { url, maxLagMs: readInteger('DATABASE_REPLICA_MAX_LAG_MS', maxLag, 5000, [3000, 60_000]) }
}

function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:/.test(url)
}

import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type ClickHouseConfig, readClickHouse } from './config/clickhouse.ts'
import {
  type MetricsExportConfig,
  readMetricsExport,
  readTracing,
  type TracingConfig,
} from './config/otlp.ts'
import { type RedisConfig, readRedis } from './config/redis.ts'
import { type ReplicaConfig, readReplica } from './config/replica.ts'
import { ConfigError, type Environment, readInteger, readUrl } from './config/values.ts'
import { readWorkers, type WorkersConfig, workerVariable } from './config/workers.ts'

export type {
  MetricsExportConfig,
  OtlpExporterConfig,
  OtlpProtocol,
  SamplerConfig,
  TracingConfig,
} from './config/otlp.ts'
export { ConfigError, type Environment } from './config/values.ts'

/** The environment variables, fixed for the life of the process. headgate.yaml is in settings.ts. */
export interface Config {
  host: string
  port: number
  dataDir: string
  /** What belongs to this process alone: the data directory, or that of a worker in it. */
  nodeDir: string
  /** `postgres://...`, or the path of a SQLite file. */
  databaseUrl: string
  /** Connections of this process to PostgreSQL for queries. */
  databasePoolSize: number
  /** Where analytics are read from instead; null without DATABASE_REPLICA_URL. */
  replica: ReplicaConfig | null
  workers: WorkersConfig
  /** What several nodes share besides the database; null without REDIS_URL. */
  redis: RedisConfig | null
  /** Where analytics are read from besides the database; null without CLICKHOUSE_URL. */
  clickhouse: ClickHouseConfig | null
  managementKey: string | null
  secretKey: string | null
  /** USD, a decimal string. */
  initialCredits: string
  logLevel: LogLevel
  /** Null unless the operator exports the gateway's own traces. */
  tracing: TracingConfig | null
  /** Null unless the operator has the gateway's metrics sent. */
  metricsExport: MetricsExportConfig | null
  /** Variables for `${NAME}` in headgate.yaml, and the API key variables of well-known providers. */
  environment: Environment
  /** The variables as they are set, with references to secret managers instead of secrets. */
  variables: Environment
}

/** Variables of Headgate itself. Others belong to its dependencies, to providers or to other programs. */
export const ownVariables: readonly string[] = [
  'HEADGATE_CONFIG',
  'HEADGATE_DATA_DIR',
  'HEADGATE_INITIAL_CREDITS',
  'HEADGATE_MANAGEMENT_KEY',
  'HEADGATE_SECRET_KEY',
  'HEADGATE_URL',
  workerVariable,
  'HEADGATE_WORKERS',
]

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** A secret with fewer is a repetition. */
const minDistinctCharacters = 6
/** Characters that must remain once guessable words, sequences and repetitions are removed. */
const minUnguessableCharacters = 4

const guessablePattern =
  /admin|api|changeme|change|default|demo|example|gateway|headgate|key|manage(ment|r)?|master|pass(word)?|prod(uction)?|root|secret|test|token/g
const characterRuns = ['0123456789012', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiop', 'asdfghjkl', 'zxcvbnm']

/** The variables of this process. */
export function readVariables(): Environment {
  return process.env
}

/** `variables` are those of the environment before references to secret managers were resolved. */
export function readConfig(
  environment: Environment = readVariables(),
  variables: Environment = environment,
): Config {
  const secrets = withSecretFiles(environment)
  const dataDir = resolve(environment.HEADGATE_DATA_DIR || './data')
  const databaseUrl = readDatabaseUrl(secrets.DATABASE_URL, dataDir)
  const workers = readWorkers(environment, /^postgres(ql)?:/.test(databaseUrl))
  return {
    host: environment.HOST || '127.0.0.1',
    port: readInteger('PORT', environment.PORT, 8080, [0, 65_535]),
    dataDir,
    nodeDir: workers.own === null ? dataDir : workerDir(dataDir, workers.own),
    databaseUrl,
    databasePoolSize: readPoolSize(environment, workers),
    replica: readReplica(environment, secrets, databaseUrl),
    workers,
    redis: readRedis(environment, secrets),
    clickhouse: readClickHouse(environment, secrets),
    managementKey: readSecret('HEADGATE_MANAGEMENT_KEY', secrets.HEADGATE_MANAGEMENT_KEY, 12),
    secretKey: readSecret('HEADGATE_SECRET_KEY', secrets.HEADGATE_SECRET_KEY, 16),
    initialCredits: readAmount('HEADGATE_INITIAL_CREDITS', environment.HEADGATE_INITIAL_CREDITS, '100'),
    logLevel: readLogLevel(environment.LOG_LEVEL),
    tracing: readTracing(environment, secrets),
    metricsExport: readMetricsExport(environment, secrets),
    environment: secrets,
    variables,
  }
}

/** The directory of a worker, below the common one. */
export function workerDir(dataDir: string, worker: number): string {
  return join(dataDir, 'workers', String(worker))
}

/** With one connection, a worker would wait for its slowest query. */
const minWorkerPool = 2

/** Workers divide the connections among them. */
function readPoolSize(environment: Environment, { count, own }: WorkersConfig): number {
  const size = readInteger('DATABASE_POOL_SIZE', environment.DATABASE_POOL_SIZE, 10, [1, 1000])
  return own === null ? size : Math.max(minWorkerPool, Math.floor(size / count))
}

const maxSecretFileBytes = 64 * 1024

/**
 * The same variables, of which each can also come from a file: `NAME_FILE` is its path. A file is read when its variable
 * is, and once.
 */
export function withSecretFiles(environment: Environment): Environment {
  const contents = new Map<string, string>()
  return new Proxy(environment, {
    get(variables, name) {
      if (typeof name !== 'string') return undefined
      const value = variables[name]
      const path = variables[`${name}_FILE`]
      if (!path) return value
      if (value) throw new ConfigError(`${name} and ${name}_FILE are both set. Remove one of them.`)
      const content = contents.get(name) ?? readSecretFile(`${name}_FILE`, path)
      contents.set(name, content)
      return content
    },
  })
}

/** Neither the path nor the content is in a message: a secret may be set by mistake instead of a path. */
function readSecretFile(name: string, path: string): string {
  const content = readSmallFile(name, path).replace(/\r?\n$/, '')
  if (content === '') throw new ConfigError(`${name} names a file that is empty.`)
  return content
}

function readSmallFile(name: string, path: string): string {
  try {
    if (statSync(path).size <= maxSecretFileBytes) return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new ConfigError(`${name} names a file that cannot be read${code}.`)
  }
  throw new ConfigError(`${name} names a file that is larger than ${maxSecretFileBytes / 1024} KiB.`)
}

function readDatabaseUrl(text: string | undefined, dataDir: string): string {
  if (!text) return resolve(dataDir, 'headgate.sqlite')
  if (text.startsWith('sqlite:')) return resolve(text.slice('sqlite:'.length).replace(/^\/\//, ''))
  const url = readUrl('DATABASE_URL', text, ['postgres:', 'postgresql:'])
  return url ?? text
}

/** Null without a headgate.yaml, unless HEADGATE_CONFIG requires one. */
export function findSettingsPath(environment: Environment): string | null {
  const text = environment.HEADGATE_CONFIG
  const path = resolve(text || './headgate.yaml')
  if (existsSync(path)) return path
  if (text) throw new ConfigError(`HEADGATE_CONFIG names a file that does not exist: ${path}.`)
  return null
}

function readSecret(name: string, value: string | undefined, minLength: number): string | null {
  if (value === undefined) return null
  if (value.length < minLength) throw new ConfigError(`${name} must have at least ${minLength} characters.`)
  if (!/^[\x21-\x7e]+$/.test(value)) {
    throw new ConfigError(`${name} must consist of printable ASCII characters without spaces.`)
  }
  if (new Set(value).size < minDistinctCharacters) {
    throw new ConfigError(`${name} must have at least ${minDistinctCharacters} different characters.`)
  }
  if (countUnguessable(value) < minUnguessableCharacters) {
    throw new ConfigError(
      `${name} is too easy to guess. Generate a random value, for example with: openssl rand -hex 32`,
    )
  }
  return value
}

/** Characters outside well-known words, keyboard or alphabet sequences, and repetitions. */
function countUnguessable(value: string): number {
  const words = value.toLowerCase().replace(guessablePattern, '')
  const rest = words.replace(/(.{1,8}?)\1+/g, '$1').replace(/[^a-z0-9]/g, '')
  return [...rest].filter((character, at) => at === 0 || !isRun(rest[at - 1] + character)).length
}

function isRun(pair: string): boolean {
  return characterRuns.some((run) => run.includes(pair) || [...run].reverse().join('').includes(pair))
}

function readAmount(name: string, text: string | undefined, fallback: string): string {
  if (!text) return fallback
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text)) return text
  throw new ConfigError(`${name} must be an amount in USD such as 100 or 0.5, not "${text}".`)
}

function readLogLevel(text: string | undefined): LogLevel {
  if (!text) return 'info'
  const level = logLevels.find((known) => known === text.toLowerCase())
  if (level) return level
  throw new ConfigError(`LOG_LEVEL must be one of ${logLevels.join(', ')}, not "${text}".`)
}

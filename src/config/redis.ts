import { readFileSync } from 'node:fs'
import { ConfigError, type Environment, readInteger } from './values.ts'

/** A server of Valkey or Redis, its Sentinels, or nodes of its Cluster. */
export interface RedisConfig {
  /** As it was set, with its password. */
  url: string
  mode: 'single' | 'sentinel' | 'cluster'
  hosts: readonly RedisHost[]
  /** The name that Sentinels know the primary by. */
  primary: string | null
  username: string | null
  password: string | null
  /** The password of the Sentinels themselves. */
  sentinelPassword: string | null
  database: number
  isTls: boolean
  /** Certificates of the authorities to trust, as PEM; null for those of the system. */
  ca: string | null
  /** Milliseconds that an operation may take. */
  timeoutMs: number
  /** The beginning of every key: several installations can share a server. */
  prefix: string
}

export interface RedisHost {
  host: string
  port: number
}

const redisPorts = { single: 6379, cluster: 6379, sentinel: 26_379 }

/** `redis://user:password@host:port,host:port/database?sentinel=name`, or `?mode=cluster`. */
const redisPattern =
  /^(rediss?):\/\/(?:([^@/?#:]*)(?::([^@/?#]*))?@)?([^@/?#]+)(?:\/(\d{0,3}))?(?:\?(?:sentinel=([\w.-]+)|mode=(cluster)))?$/

/**
 * Reads the variables; `secrets` are the same, of which each may also come from a file. The URL is in no message: it
 * contains a password.
 */
export function readRedis(environment: Environment, secrets: Environment): RedisConfig | null {
  const { REDIS_CA_FILE: caFile, REDIS_PREFIX: prefix } = environment
  const url = secrets.REDIS_URL
  if (!url) return null
  const [, scheme, username, password, hosts = '', database, primary, cluster] = redisPattern.exec(url) ?? []
  const mode = primary ? 'sentinel' : cluster ? 'cluster' : 'single'
  const addresses = hosts.split(',').map((text) => readRedisHost(text, redisPorts[mode]))
  const isValid = scheme !== undefined && addresses.every((address) => address !== null)
  if (!isValid || (mode === 'single' && addresses.length > 1) || (mode === 'cluster' && Number(database) > 0))
    throw new ConfigError(
      'REDIS_URL must be a URL that starts with redis:// or rediss://. Several hosts, separated by commas, need ?sentinel=<name of the primary> or ?mode=cluster; a Cluster has only the database 0.',
    )
  if (prefix && !/^[\w.-]{1,40}$/.test(prefix))
    throw new ConfigError('REDIS_PREFIX must consist of at most 40 letters, digits, ".", "_" and "-".')
  return {
    url,
    mode,
    hosts: addresses,
    primary: primary ?? null,
    username: decodeRedisPart(username),
    password: decodeRedisPart(password),
    sentinelPassword: secrets.REDIS_SENTINEL_PASSWORD || null,
    database: Number(database || 0),
    isTls: scheme === 'rediss',
    ca: caFile ? readCaFile(caFile) : null,
    timeoutMs: readInteger('REDIS_TIMEOUT_MS', environment.REDIS_TIMEOUT_MS, 50, [1, 10_000]),
    prefix: prefix || 'headgate',
  }
}

/** `host`, `host:port` or `[IPv6]:port`. */
function readRedisHost(text: string, byDefault: number): RedisHost | null {
  const [, ipv6, name, port] = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(text) ?? []
  const host = ipv6 ?? name
  return host === undefined || Number(port) > 65_535 ? null : { host, port: Number(port ?? byDefault) }
}

function decodeRedisPart(text: string | undefined): string | null {
  if (!text) return null
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ConfigError('The user name and the password in REDIS_URL must be percent-encoded.')
  }
}

function readCaFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new ConfigError(`REDIS_CA_FILE names a file that cannot be read: ${path}.`)
  }
}

import type { z } from 'zod'
import type { Config } from '../config.ts'
import { fullMask } from '../platform/crypto/mask.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import { settingKinds } from '../platform/validation/setting-fields.ts'
import { type Settings, settingsFields } from './settings.ts'

type Schema = z.core.$ZodType

/** Maximum entries of a list, such as that of declared models. */
const maxEntries = 200

/** The settings in effect, in the units of headgate.yaml, with every secret masked. */
export function describeSettings(settings: Settings): Record<string, unknown> {
  return describeObject(settings, (name) => settingsFields.shape[name as keyof typeof settingsFields.shape])
}

function describe(schema: Schema | undefined, value: unknown): unknown {
  if (value === null || value === undefined) return value
  const kind = schema && settingKinds.get(schema)?.kind
  if (kind === 'secret') return fullMask
  if (kind === 'seconds') return Number(value) / 1000
  const inner = schema && unwrap(schema, value)
  if (inner) return describe(inner, value)
  if (typeof value === 'bigint') return usdFromNanos(value)
  if (typeof value === 'string') return isKnownText(schema) ? maskUrl(value) : fullMask
  if (value instanceof Map) return describe(schema, Object.fromEntries(value))
  if (Array.isArray(value)) return describeList(value, schema)
  return typeof value === 'object' ? describeObject(value, (name) => fieldOf(schema, name)) : value
}

/** Finds the schema of this value behind one that only wraps another, or chooses among others. */
function unwrap(schema: Schema, value: unknown): Schema | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return def.innerType
    case 'pipe':
      return def.in
    case 'union':
      return def.options.find((option) => (option as z.ZodType).safeParse(value).success)
    default:
      return undefined
  }
}

/** Text of a setting that is not declared could be anything. */
function isKnownText(schema: Schema | undefined): boolean {
  const type = schema && (schema as z.core.$ZodTypes)._zod.def.type
  return type === 'string' || type === 'enum' || type === 'literal'
}

function fieldOf(schema: Schema | undefined, name: string): Schema | undefined {
  const def = schema && (schema as z.core.$ZodTypes)._zod.def
  if (def?.type === 'record') return def.valueType
  return def?.type === 'object' ? def.shape[name] : undefined
}

function describeList(values: unknown[], schema: Schema | undefined): unknown[] {
  const def = schema && (schema as z.core.$ZodTypes)._zod.def
  const element = def?.type === 'array' ? def.element : undefined
  const shown = values.slice(0, maxEntries).map((value) => describe(element, value))
  return values.length > maxEntries ? [...shown, `and ${values.length - maxEntries} more`] : shown
}

/** Fields without a schema are not settings. */
function describeObject(
  value: object,
  schemaOf: (name: string) => Schema | undefined,
): Record<string, unknown> {
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const schema = schemaOf(name)
    return schema ? [[name, describe(schema, field)]] : []
  })
  return Object.fromEntries(fields)
}

/** Masks the user name, the password and the query, which may contain either. */
function maskUrl(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text
  if (!URL.canParse(text)) return fullMask
  const { protocol, username, password, host, pathname, search } = new URL(text)
  const user = username || password ? `${fullMask}@` : ''
  return `${protocol}//${user}${host}${pathname}${search && `?${fullMask}`}`
}

/** Masks the user name and the password of a URL that may name several hosts. */
function maskHosts(text: string): string {
  return text.replace(/\/\/[^@/]*@/, `//${fullMask}@`)
}

/** The environment variables that are read, with every secret masked; null where one is not set. */
export function describeEnvironment(config: Config): Record<string, string | null> {
  const { tracing, redis, replica, clickhouse } = config
  const mask = (secret: string | null) => secret && fullMask
  return {
    HOST: config.host,
    PORT: String(config.port),
    HEADGATE_DATA_DIR: config.dataDir,
    HEADGATE_CONFIG: config.environment.HEADGATE_CONFIG || null,
    HEADGATE_WORKERS: config.environment.HEADGATE_WORKERS || null,
    DATABASE_URL: maskUrl(config.databaseUrl),
    DATABASE_REPLICA_URL: replica && maskUrl(replica.url),
    DATABASE_REPLICA_MAX_LAG_MS: replica && String(replica.maxLagMs),
    REDIS_URL: redis && maskHosts(redis.url),
    REDIS_CA_FILE: config.environment.REDIS_CA_FILE || null,
    REDIS_SENTINEL_PASSWORD: redis && mask(redis.sentinelPassword),
    REDIS_TIMEOUT_MS: redis && String(redis.timeoutMs),
    REDIS_PREFIX: redis?.prefix ?? null,
    CLICKHOUSE_URL: clickhouse && maskUrl(clickhouse.url),
    CLICKHOUSE_CA_FILE: config.environment.CLICKHOUSE_CA_FILE || null,
    CLICKHOUSE_TIMEOUT_MS: clickhouse && String(clickhouse.timeoutMs),
    HEADGATE_MANAGEMENT_KEY: mask(config.managementKey),
    HEADGATE_SECRET_KEY: mask(config.secretKey),
    HEADGATE_INITIAL_CREDITS: config.initialCredits,
    LOG_LEVEL: config.logLevel,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: tracing && maskUrl(tracing.endpoint),
    OTEL_EXPORTER_OTLP_TRACES_HEADERS:
      tracing &&
      Object.keys(tracing.headers)
        .map((name) => `${name}=${fullMask}`)
        .join(','),
  }
}

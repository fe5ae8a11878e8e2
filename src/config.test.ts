import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, findSettingsPath, ownVariables, readConfig } from './config.ts'

describe('the environment', () => {
  test('its own variables are those of docs/configuration.md', () => {
    const page = readFileSync(join(import.meta.dir, '../docs/configuration.md'), 'utf8')
    const named = new Set(page.match(/\bHEADGATE_[A-Z_]+/g)?.map((name) => name.replace(/_FILE$/, '')))
    expect([...named].sort()).toEqual([...ownVariables].sort())
  })

  test('the defaults are safe: loopback, SQLite in ./data', () => {
    const config = readConfig({})
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      initialCredits: '100',
      managementKey: null,
    })
    expect(config.databaseUrl).toEndWith('/data/headgate.sqlite')
  })

  test.each([
    ['PORT', 'http', 'PORT must be an integer from 0 to 65535, not "http".'],
    ['PORT', '65536', 'PORT must be'],
    ['PORT', '-1', 'PORT must be'],
    ['HEADGATE_WORKERS', '0', 'HEADGATE_WORKERS must be an integer from 1 to 128, not "0".'],
    [
      'HEADGATE_WORKERS',
      '2',
      'one process at a time can use a SQLite database. Set DATABASE_URL to PostgreSQL',
    ],
    ['DATABASE_POOL_SIZE', '0', 'DATABASE_POOL_SIZE must be an integer from 1 to 1000, not "0".'],
    ['DATABASE_URL', 'mysql://x', 'DATABASE_URL must be a URL that starts with postgres://'],
    ['REDIS_URL', 'localhost:6379', 'REDIS_URL must be a URL that starts with redis://'],
    ['REDIS_URL', 'redis://a,b', 'need ?sentinel=<name of the primary> or ?mode=cluster'],
    ['REDIS_URL', 'redis://a:99999', 'REDIS_URL must be a URL'],
    ['REDIS_URL', 'redis://a/1?mode=cluster', 'a Cluster has only the database 0'],
    ['REDIS_URL', 'redis://user:%zz@a', 'REDIS_URL must be percent-encoded'],
    ['HEADGATE_MANAGEMENT_KEY', '', 'HEADGATE_MANAGEMENT_KEY must have at least 12 characters.'],
    ['HEADGATE_MANAGEMENT_KEY', 'with spaces in it', 'printable ASCII'],
    ['HEADGATE_MANAGEMENT_KEY', 'headgate-management-key', 'too easy to guess'],
    ['HEADGATE_MANAGEMENT_KEY', 'changeme-changeme', 'too easy to guess'],
    ['HEADGATE_MANAGEMENT_KEY', 'aaaaaaaaaaaaaaaa', 'must have at least 6 different'],
    ['HEADGATE_SECRET_KEY', 'Password1234567890', 'too easy to guess'],
    ['HEADGATE_SECRET_KEY', '1234567890abcdef', 'too easy to guess'],
    ['HEADGATE_SECRET_KEY', 'qwertyuiop-asdfghjkl', 'too easy to guess'],
    ['HEADGATE_SECRET_KEY', 'short', 'HEADGATE_SECRET_KEY must have at least 16 characters.'],
    ['HEADGATE_INITIAL_CREDITS', '-5', 'HEADGATE_INITIAL_CREDITS must be an amount'],
    ['HEADGATE_INITIAL_CREDITS', 'lots', 'HEADGATE_INITIAL_CREDITS must be an amount'],
    ['LOG_LEVEL', 'loud', 'LOG_LEVEL must be one of'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'must be a URL that starts with http:// or https://'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://a:b@collector', 'must not contain a user name or password'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'ftp://collector', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be'],
  ])('S10 %s=%s fails the start with one message', (name, value, message) => {
    expect(() => readConfig({ [name]: value })).toThrow(ConfigError)
    expect(() => readConfig({ [name]: value })).toThrow(message)
  })

  test.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be one of http/protobuf, http/json, not "grpc".'],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'grpc', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'no-value', 'must be a list such as name=value'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz', 'must be a list such as name=value'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b%0d%0ac', 'must be a list such as name=value'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'OTEL_TRACES_SAMPLER must be one of always_on'],
    ['OTEL_TRACES_SAMPLER_ARG', '2', 'must be a ratio from 0 to 1 such as 0.1, not "2".'],
    ['OTEL_TRACES_SAMPLER_ARG', 'half', 'must be a ratio'],
  ])('S10 %s=%s fails the start where traces are exported', (name, value, message) => {
    const sampler = { OTEL_TRACES_SAMPLER: 'traceidratio', [name]: value }
    expect(() => readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector', ...sampler })).toThrow(message)
    expect(readConfig(sampler).tracing).toBeNull()
  })

  test('S10 the settings of Redis fail the start with a message that names them', () => {
    const redis = { REDIS_URL: 'redis://localhost' }
    for (const name of ['REDIS_TIMEOUT_MS', 'REDIS_PREFIX', 'REDIS_CA_FILE'])
      expect(() => readConfig({ ...redis, [name]: '/no such value' })).toThrow(name)
  })

  test('S10 the settings of a replica fail the start with a message that names them', () => {
    const read = (changes: Record<string, string>) =>
      readConfig({ DATABASE_URL: 'postgres://a', DATABASE_REPLICA_URL: 'postgres://b', ...changes })
    expect(readConfig({}).replica).toBeNull()
    expect(read({}).replica).toEqual({ url: 'postgres://b', maxLagMs: 5000 })
    expect(read({ DATABASE_REPLICA_MAX_LAG_MS: '60000' }).replica?.maxLagMs).toBe(60_000)
    for (const value of ['mysql://b:secret', 'b', 'sqlite:/secret']) {
      expect(() => read({ DATABASE_REPLICA_URL: value })).toThrow('DATABASE_REPLICA_URL must be a URL')
      expect(() => read({ DATABASE_REPLICA_URL: value })).not.toThrow('secret')
    }
    expect(() => read({ DATABASE_REPLICA_MAX_LAG_MS: '2999' })).toThrow('DATABASE_REPLICA_MAX_LAG_MS')
    expect(() => read({ DATABASE_URL: '' })).toThrow('DATABASE_REPLICA_URL needs a DATABASE_URL')
  })

  test('REDIS_URL names one server, Sentinels or nodes of a Cluster', () => {
    const read = (url: string) => readConfig({ REDIS_URL: url }).redis
    expect(read('')).toBeNull()
    expect(read('redis://localhost')).toMatchObject({
      mode: 'single',
      hosts: [{ host: 'localhost', port: 6379 }],
      username: null,
      password: null,
      isTls: false,
      timeoutMs: 50,
      prefix: 'headgate',
    })
    expect(read('rediss://app:p%40ss@[::1]:6380/2')).toMatchObject({
      hosts: [{ host: '::1', port: 6380 }],
      username: 'app',
      password: 'p@ss',
      database: 2,
      isTls: true,
    })
    expect(read('redis://:secret@a,b:1234?sentinel=main')).toMatchObject({
      mode: 'sentinel',
      primary: 'main',
      password: 'secret',
      hosts: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 1234 },
      ],
    })
    expect(read('redis://a:7000,b:7001/?mode=cluster')).toMatchObject({ mode: 'cluster', database: 0 })
  })

  test('the export of traces has the defaults of OpenTelemetry', () => {
    expect(readConfig({}).tracing).toBeNull()
    expect(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/base/' }).tracing).toEqual({
      endpoint: 'http://collector:4318/base/v1/traces',
      headers: {},
      protocol: 'http/protobuf',
      serviceName: 'headgate',
      sampler: { isParentBased: true, ratio: 1 },
    })
  })

  test('the variables for traces override those for all signals', () => {
    const { tracing } = readConfig({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces/in?a=1',
      OTEL_EXPORTER_OTLP_HEADERS: 'Api-Key=a%2Cb, x=1',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x=2==',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_SERVICE_NAME: 'gate',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '.25',
    })
    expect(tracing).toEqual({
      endpoint: 'https://traces/in?a=1',
      headers: { 'api-key': 'a,b', x: '2==' },
      protocol: 'http/json',
      serviceName: 'gate',
      sampler: { isParentBased: true, ratio: 0.25 },
    })
  })

  test('S12 the error about invalid headers does not contain them', () => {
    const read = () =>
      readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_HEADERS: 'a=hunter2%zz' })
    expect(read).toThrow(ConfigError)
    expect(read).not.toThrow('hunter2')
  })

  test('a settings file named in HEADGATE_CONFIG must exist; the default one is optional', () => {
    expect(() => findSettingsPath({ HEADGATE_CONFIG: './no-such.yaml' })).toThrow(
      'HEADGATE_CONFIG names a file',
    )
    expect(findSettingsPath({})).toBeNull()
  })

  test('S12 the error about an invalid URL does not contain its password', () => {
    const read = () => readConfig({ DATABASE_URL: 'mysql://me:hunter2@db/x' })
    expect(read).toThrow(ConfigError)
    expect(read).not.toThrow('hunter2')
  })
})

describe('a variable in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-config-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const write = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const secret = 'k3y-0f-7he-1nst4ll4tion'

  test('NAME_FILE is the path of a file with the secret; the end of its line is removed', () => {
    const config = readConfig({
      HEADGATE_SECRET_KEY_FILE: write('secret', `${secret}\n`),
      HEADGATE_MANAGEMENT_KEY_FILE: write('management', `${secret}\r\n`),
      DATABASE_URL_FILE: write('database', 'postgres://u:p@db/headgate'),
      REDIS_URL_FILE: write('redis', 'redis://valkey'),
      OPENAI_API_KEY_FILE: write('openai', 'sk-openai\n'),
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      OTEL_EXPORTER_OTLP_HEADERS_FILE: write('headers', 'x-key=1'),
    })
    expect(config).toMatchObject({
      secretKey: secret,
      managementKey: secret,
      databaseUrl: 'postgres://u:p@db/headgate',
      redis: { url: 'redis://valkey' },
      tracing: { headers: { 'x-key': '1' } },
    })
    expect(config.environment.OPENAI_API_KEY).toBe('sk-openai')
  })

  test('both set is an error; an empty variable counts as not set', () => {
    const path = write('both', secret)
    const both = { HEADGATE_SECRET_KEY: secret, HEADGATE_SECRET_KEY_FILE: path }
    expect(() => readConfig(both)).toThrow(
      'HEADGATE_SECRET_KEY and HEADGATE_SECRET_KEY_FILE are both set. Remove one of them.',
    )
    expect(readConfig({ ...both, HEADGATE_SECRET_KEY: '' }).secretKey).toBe(secret)
  })

  test('a file that cannot be read is an error without its path, which may be a secret by mistake', () => {
    const problemOf = (path: string) => () => readConfig({ HEADGATE_SECRET_KEY_FILE: path })
    expect(problemOf(secret)).toThrow('HEADGATE_SECRET_KEY_FILE names a file that cannot be read (ENOENT).')
    expect(problemOf(write('empty', '\n'))).toThrow('HEADGATE_SECRET_KEY_FILE names a file that is empty.')
    expect(problemOf(write('large', 'x'.repeat(70_000)))).toThrow('larger than 64 KiB')
  })

  test('a variable of another program that ends like this is not read', () => {
    expect(readConfig({ SSL_CERT_FILE: '/nowhere' }).environment.SSL_CERT_FILE).toBe('/nowhere')
  })
})

test.if(process.platform === 'linux')(
  'workers divide the connections, and each has a directory of its own',
  () => {
    const postgres = { DATABASE_URL: 'postgres://db/x', HEADGATE_DATA_DIR: '/data' }
    const read = (variables: Record<string, string>) => readConfig({ ...postgres, ...variables })
    expect(read({}).workers).toEqual({ count: 1, own: null })
    expect(read({ HEADGATE_WORKER: '1' }).workers).toEqual({ count: 1, own: null })
    expect(read({ HEADGATE_WORKERS: 'auto' }).workers.count).toBeGreaterThanOrEqual(1)
    expect(readConfig({ HEADGATE_WORKERS: 'auto' }).workers.count).toBe(1)
    const worker = (size: string) =>
      read({ HEADGATE_WORKERS: '4', HEADGATE_WORKER: '3', DATABASE_POOL_SIZE: size })
    expect(worker('20')).toMatchObject({ nodeDir: '/data/workers/3', dataDir: '/data', databasePoolSize: 5 })
    expect(worker('1').databasePoolSize).toBe(2)
  },
)

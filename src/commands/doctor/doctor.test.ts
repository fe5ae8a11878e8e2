import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { findFreePort } from '../../../scripts/postgres.mjs'
import { cert, loopbackCert, loopbackKey } from '../../../test/support/certificate.ts'
import { hasClickHouse, TestClickHouse } from '../../../test/support/clickhouse.ts'
import { createMigratedFile } from '../../../test/support/databases.ts'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { startMailServer } from '../../../test/support/mail-server.ts'
import { program } from '../../../test/support/program.ts'
import { vendorReply } from '../../../test/support/replies.ts'
import { Program } from '../../../test/support/running-program.ts'
import { formatS3Settings, hasS3, newS3Options } from '../../../test/support/s3.ts'
import { startUpstream, type Upstream } from '../../../test/support/upstream.ts'
import { hasValkey, newRedisEnvironment } from '../../../test/support/valkey.ts'
import type { Environment } from '../../config.ts'
import { recordServerEvent } from '../../gateway/server-events.ts'
import { isPostgres } from '../../platform/db/db.ts'
import { S3Store } from '../../platform/files/s3-store.ts'
import { checkPublicCertificate, describeAuthorities, describeExpiry } from './certificates.ts'
import { type CheckName, type CheckResult, checkNames } from './check-result.ts'
import { diagnose, formatDiagnosis } from './doctor.ts'
import { checkClock, describeSpace } from './machine.ts'

const scratch = mkdtempSync(join(tmpdir(), 'headgate-doctor-'))
afterAll(() => rmSync(scratch, { recursive: true }))

let folders = 0
/** Variables of an installation with an empty data directory. */
function newInstallation(more: Record<string, string> = {}): Record<string, string> {
  const dataDir = join(scratch, String(folders++))
  writeFileSync(`${dataDir}.yaml`, '')
  return { HEADGATE_DATA_DIR: dataDir, HEADGATE_CONFIG: `${dataDir}.yaml`, ...more }
}

const run = (variables: Environment, isOnline = false) => diagnose({ isOnline, variables })
const statusesOf = (results: readonly CheckResult[], name: CheckName) =>
  results.filter(({ check }) => check === name).map(({ status }) => status)
const notOk = (results: readonly CheckResult[]) => results.filter(({ status }) => status !== 'ok')
const textOf = (results: readonly CheckResult[]) => results.map(({ message }) => message).join('\n')

const settings = (url: string) => `
providers:
  - { slug: local, name: Local, base_url: "${url}/v1", api_key: sk-canary-secret-value, dialects: [chat] }
models:
  - { id: acme/chat, name: Chat, endpoints: [{ provider: local, upstream_model: m }] }
`

describe('the other servers', () => {
  const check = async (variables: Record<string, string>, yaml = '') => {
    const installation = newInstallation(variables)
    writeFileSync(installation.HEADGATE_CONFIG ?? '', yaml)
    const results = await run(installation)
    return results.filter(({ check }) => check === 'services')
  }

  test('none are configured', async () => {
    expect(await check({})).toMatchObject([{ status: 'ok', message: expect.stringContaining('No other') }])
  })

  test('one that cannot be reached, or rejects its credentials, fails without showing them', async () => {
    const port = await findFreePort()
    const inbox = await startMailServer({ user: 'gateway', password: 'right' })
    const s3 = { endpoint: `http://127.0.0.1:${port}`, bucket: 'b', region: 'r', prefix: '' }
    const keys = { access_key_id: 'canary-id', secret_access_key: 'canary-secret' }
    const smtp = { host: '127.0.0.1', port: inbox.port, tls: 'none', user: 'gateway', password: 'canary-p' }
    const yaml = JSON.stringify({
      public_url: 'https://gateway.example.com',
      files: { s3: { ...s3, ...keys } },
      smtp: { ...smtp, from: 'gateway@example.com' },
    })
    const results = await check(
      {
        REDIS_URL: `redis://:canary-redis@127.0.0.1:${port}`,
        CLICKHOUSE_URL: `http://user:canary-house@127.0.0.1:${port}/db`,
      },
      yaml,
    )
    await inbox.close()
    expect(results.map(({ status }) => status)).toEqual(['failed', 'failed', 'failed', 'failed'])
    for (const { remedy } of results) expect(remedy).not.toBeNull()
    expect(JSON.stringify(results)).not.toContain('canary')
    expect(inbox.unread).toBe(0)
  })

  test('a mail server that accepts the password gets no mail', async () => {
    const inbox = await startMailServer({ user: 'gateway', password: 'right' })
    const smtp = { host: '127.0.0.1', port: inbox.port, tls: 'none', user: 'gateway', password: 'right' }
    const from = 'gateway@example.com'
    const yaml = JSON.stringify({ public_url: 'https://gateway.example.com', smtp: { ...smtp, from } })
    expect(await check({}, yaml)).toMatchObject([
      { status: 'ok', message: expect.stringContaining('mail server responds') },
    ])
    expect(inbox.unread).toBe(0)
    await inbox.close()
  })

  test.skipIf(!hasValkey)('Valkey', async () => {
    expect(await check(newRedisEnvironment())).toMatchObject([{ status: 'ok' }])
    const wrong = new URL(newRedisEnvironment().REDIS_URL ?? '')
    wrong.username = 'nobody'
    wrong.password = 'canary'
    const [result] = await check({ REDIS_URL: wrong.href })
    expect(result).toMatchObject({ status: 'failed' })
    expect(JSON.stringify(result)).not.toContain('canary')
  })

  test.skipIf(!hasS3)('a bucket, which remains as it is', async () => {
    const options = newS3Options()
    expect(await check({}, formatS3Settings(options))).toMatchObject([{ status: 'ok' }])
    const wrong = formatS3Settings({ ...options, secretAccessKey: 'canary' })
    expect(await check({}, wrong)).toMatchObject([{ status: 'failed' }])
    const pages = await Array.fromAsync(new S3Store(options).list())
    expect(pages.flat()).toEqual([])
  })

  test.skipIf(!hasClickHouse)('ClickHouse', async () => {
    const clickhouse = await TestClickHouse.start()
    try {
      expect(await check(await clickhouse.newEnvironment())).toMatchObject([{ status: 'ok' }])
    } finally {
      await clickhouse.stop()
    }
  })
})

describeOnEachDatabase('headgate doctor beside a running server', (server) => {
  let upstream: Upstream
  const variables = () => server().gateway.config.variables
  const writeSettings = (text: string) => Bun.write(variables().HEADGATE_CONFIG ?? '', text)
  const edit = (statement: string) => sql.raw(statement).execute(server().gateway.db)
  beforeAll(async () => {
    upstream = await startUpstream()
    await recordServerEvent(server().gateway, 'server.start', {})
    await writeSettings(settings(upstream.url))
  })
  afterAll(() => upstream.stop())

  test('every check has a result, nothing has failed, nothing is sent and no secret is printed', async () => {
    const results = await run(variables())
    expect([...new Set(results.map(({ check }) => check))]).toEqual([...checkNames])
    expect(results.filter(({ status }) => status === 'failed')).toEqual([])
    expect(textOf(results)).toContain('Ready for requests: local.')
    expect(upstream.requests).toEqual([])
    const { text, value, exitCode } = formatDiagnosis(results)
    expect(exitCode).toBe(0)
    const { dataDir, databaseUrl, secretKey } = server().gateway.config
    const key = secretKey ?? readFileSync(join(dataDir, 'secret.key'), 'utf8')
    const password = isPostgres(server().gateway.db) ? new URL(databaseUrl).password : ''
    for (const secret of ['sk-canary-secret-value', key, password].filter(Boolean))
      expect(text + JSON.stringify(value)).not.toContain(secret)
  })

  test('a violated invariant of the ledger fails, and names the command that lists all violations', async () => {
    await edit("update ledger_entries set amount_nanos = amount_nanos + 1 where account = 'credits'")
    const results = notOk(await run(variables())).filter(({ check }) => check === 'ledger')
    await edit("update ledger_entries set amount_nanos = amount_nanos - 1 where account = 'credits'")
    expect(results[0]).toMatchObject({ status: 'failed', message: expect.stringContaining('I1 is violated') })
    expect(results[0]?.remedy).toContain('headgate check-ledger')
    expect(formatDiagnosis(results).exitCode).toBe(1)
  })

  test('a changed entry of the audit log fails', async () => {
    const row = await server()
      .gateway.db.selectFrom('audit_entries')
      .selectAll()
      .where('chain_id', '=', 'installation')
      .orderBy('seq', 'desc')
      .executeTakeFirstOrThrow()
    await edit(`update audit_entries set action = 'forged' where id = '${row.id}'`)
    const results = await run(variables())
    await edit(`update audit_entries set action = '${row.action}' where id = '${row.id}'`)
    expect(statusesOf(results, 'audit log')).toEqual(['failed'])
    expect(textOf(results)).toContain('The chain installation is broken')
  })

  test('a clock that was set back is noticed by what the server has recorded', async () => {
    const hourAgo = Date.now() - 3600_000
    const results = notOk(await checkClock(server().gateway.db, hourAgo))
    // With PostgreSQL, its clock counts, and that one is right.
    if (!isPostgres(server().gateway.db))
      expect(textOf(results)).toMatch(/in the future: the clock was set back/)
    expect(textOf(await checkClock(null, Date.parse('2001-01-01')))).toContain('before this version')
  })

  test('a key of another installation fails, and what needs it is skipped', async () => {
    const results = await run({ ...variables(), HEADGATE_SECRET_KEY: 'zQ8vL2mX5pR7tW1k' })
    expect(statusesOf(results, 'database')).toContain('failed')
    expect(textOf(results)).toContain('not the one that this database was encrypted with')
    expect(statusesOf(results, 'audit log')).toEqual(['skipped'])
    expect(statusesOf(results, 'ledger')).toEqual(['ok'])
  })

  test('a migration that has not run fails, and nothing is migrated', async () => {
    const table = 'kysely_migration'
    const { db } = server().gateway
    const { rows } = await sql<{ name: string; timestamp: string }>`select name, timestamp
      from ${sql.table(table)} order by name desc limit 1`.execute(db)
    const [last] = rows
    await sql`delete from ${sql.table(table)} where name = ${last?.name}`.execute(db)
    const results = await run(variables())
    await sql`insert into ${sql.table(table)} (name, timestamp) values (${last?.name}, ${last?.timestamp})`.execute(
      db,
    )
    expect(notOk(results).find(({ check }) => check === 'database')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(String(last?.name)),
      remedy: expect.stringContaining('headgate migrate'),
    })
    expect(statusesOf(results, 'ledger')).toEqual(['skipped'])
  })

  test('--online sends a request to every provider and says what failed', async () => {
    upstream.enqueue({ json: vendorReply('chat', 'text').body })
    const works = await run(variables(), true)
    expect(upstream.requests).toHaveLength(1)
    expect(textOf(works)).toMatch(/local: The provider accepted the credential.*acme\/chat/)
    upstream.enqueue({ status: 401 })
    const rejected = notOk(await run(variables(), true)).filter(({ check }) => check === 'providers')
    expect(rejected).toMatchObject([
      { status: 'failed', remedy: expect.stringContaining('Check that it is') },
    ])
  })

  test('headgate.yaml with an unknown field fails with its line; undeclared models are warnings', async () => {
    await writeSettings('limits: {}\nrecrods: { retention_days: 5 }\n')
    const broken = await run(variables())
    await writeSettings('semantic_cache: { model: acme/absent }\n')
    const unknown = await run({ ...variables(), HEADGATE_WORKRES: '4', HEADGATE_PORT: 'tcp://10.0.0.1:80' })
    await writeSettings(settings(upstream.url))
    expect(notOk(broken)[0]).toMatchObject({ check: 'configuration', status: 'failed' })
    expect(textOf(broken)).toMatch(/headgate\.yaml, line 2: .*recrods/)
    expect(statusesOf(broken, 'providers')).toEqual(['skipped'])
    expect(statusesOf(broken, 'ledger')).toEqual(['ok'])
    const warnings = notOk(unknown).filter(({ check }) => check === 'configuration')
    expect(warnings.map(({ status }) => status)).toEqual(['warning', 'warning'])
    expect(textOf(warnings)).toMatch(/HEADGATE_WORKRES[\s\S]*semantic_cache\.model/)
  })
})

describe('headgate doctor', () => {
  test('leaves a folder without an installation empty', async () => {
    const variables = newInstallation()
    const results = await run(variables)
    expect(existsSync(variables.HEADGATE_DATA_DIR ?? '')).toBe(false)
    expect(formatDiagnosis(results).exitCode).toBe(0)
    expect(statusesOf(results, 'ledger')).toEqual(['skipped'])
  })

  test('leaves the files of an installation as they are', async () => {
    const variables = newInstallation({ HEADGATE_SECRET_KEY: 'zQ8vL2mX5pR7tW1k' })
    const dataDir = variables.HEADGATE_DATA_DIR ?? ''
    await Bun.write(join(dataDir, 'empty'), '')
    await createMigratedFile(join(dataDir, 'headgate.sqlite'))
    const before = listFiles(dataDir)
    await run(variables, true)
    expect(listFiles(dataDir)).toEqual(before)
  })

  test('the environment that cannot be used fails alone, and the value of a variable is not printed', async () => {
    const results = await run(newInstallation({ DATABASE_URL: 'mysql://user:canary-secret@host/database' }))
    expect(statusesOf(results, 'configuration')).toEqual(['failed'])
    expect(results.slice(1).every(({ status }) => status === 'skipped')).toBe(true)
    expect(JSON.stringify(results)).not.toContain('canary')
  })

  test('a database that does not respond, and a file that is none, fail without their password', async () => {
    const url = 'postgres://user:canary-secret@127.0.0.1:1/database'
    const unreachable = await run(newInstallation({ DATABASE_URL: url }))
    expect(statusesOf(unreachable, 'database')).toEqual(['failed'])
    expect(textOf(unreachable)).toContain('PostgreSQL cannot be opened')
    expect(JSON.stringify(unreachable)).not.toContain('canary')
    const path = join(scratch, 'other.txt')
    writeFileSync(path, 'not a database')
    const foreign = await run(newInstallation({ DATABASE_URL: `sqlite:${path}` }))
    expect(textOf(foreign)).toContain('is not a SQLite database')
    expect(readFileSync(path, 'utf8')).toBe('not a database')
  })

  test('an overwritten page of a SQLite file fails', async () => {
    const variables = newInstallation({ HEADGATE_SECRET_KEY: 'zQ8vL2mX5pR7tW1k' })
    const path = join(variables.HEADGATE_DATA_DIR ?? '', 'headgate.sqlite')
    await Bun.write(path, '')
    await createMigratedFile(path)
    const content = readFileSync(path)
    const middle = Math.floor(content.length / 2 / 4096) * 4096
    content.fill(0xff, middle, middle + 4096)
    writeFileSync(path, content)
    const results = notOk(await run(variables))
    expect(results).toContainEqual(
      expect.objectContaining({
        check: 'database',
        status: 'failed',
        remedy: expect.stringContaining('backup'),
      }),
    )
  })

  test('--json prints the results, and the exit code is 1 if a check has failed', async () => {
    const environment = newInstallation()
    const sound = new Program([...program, 'doctor', '--json'], environment)
    expect(await sound.end()).toBe(0)
    expect(JSON.parse(sound.output)).toMatchObject({ sound: true, failed: 0 })
    await Bun.write(environment.HEADGATE_CONFIG ?? '', 'unknown: 1')
    const broken = new Program([...program, 'doctor'], environment)
    expect(await broken.end()).toBe(1)
    expect(broken.output).toMatch(/^configuration\n {2}FAILED {3}.*line 1: unknown/m)
    expect(broken.output).toContain('Failed: 1.')
  })
})

describe('certificates', () => {
  const now = Date.parse('2026-11-19T00:00:00Z')
  const validity = (validTo: string, validFrom = '2026-01-01') => [{ validFrom, validTo }]

  test.each([
    ['2027-11-19', '2026-01-01', 'ok'],
    ['2026-12-01', '2026-01-01', 'warning'],
    ['2026-11-18', '2026-01-01', 'failed'],
    ['2027-11-19', '2027-01-01', 'failed'],
  ] as const)('that expires on %s and begins on %s: %s', (validTo, validFrom, status) => {
    expect(describeExpiry('It', validity(validTo, validFrom), now).status).toBe(status)
  })

  test('of authorities fail only where none is valid any more', () => {
    const [valid, expired] = [validity('2027-11-19'), validity('2026-11-18')]
    expect(describeAuthorities('It', [...valid, ...expired], now)).toMatchObject({
      status: 'warning',
      message: 'It has 1 expired of 2 certificates.',
    })
    expect(describeAuthorities('It', [...expired, ...expired], now).status).toBe('failed')
    expect(describeAuthorities('It', [...valid, ...valid], now).status).toBe('ok')
  })

  test('of files that variables name are read', async () => {
    const path = join(scratch, 'ca.pem')
    writeFileSync(path, `${cert}\n`)
    const environment = newInstallation({
      CLICKHOUSE_URL: 'https://127.0.0.1:1/db',
      CLICKHOUSE_CA_FILE: path,
    })
    const results = await run({ ...environment, VAULT_CACERT: join(scratch, 'absent.pem') })
    expect(statusesOf(results, 'certificates')).toEqual(['ok', 'failed'])
    expect(textOf(results)).toMatch(/CLICKHOUSE_CA_FILE: valid until 2125-/)
  })

  test('of the public URL is read, and one that is not trusted fails', async () => {
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      tls: { cert: loopbackCert, key: loopbackKey },
      fetch: () => new Response(),
    })
    const results = await checkPublicCertificate(`https://127.0.0.1:${proxy.port}`)
    await proxy.stop(true)
    expect(results.map(({ status }) => status)).toEqual(['ok', 'failed'])
    const gone = await checkPublicCertificate('https://127.0.0.1:1')
    expect(gone.map(({ status }) => status)).toEqual(['warning'])
  })
})

test.each([
  [0.5, 0.5, 'ok'],
  [0.05, 0.5, 'warning'],
  [0.5, 0.05, 'warning'],
  [0.01, 0.5, 'failed'],
] as const)(
  'a disk of which %p of the bytes and %p of the files are free: %s',
  (share, fileShare, status) => {
    expect(describeSpace('/data', { freeBytes: 2 ** 30, share, fileShare }).status).toBe(status)
  },
)

/** Names, times and contents of the files, without those that SQLite has while a database is open. */
function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => !/-(?:wal|shm)$/.test(name))
    .sort()
    .map((name) => {
      const path = join(folder, name)
      const content = statSync(path).isFile() ? readFileSync(path) : ''
      return `${name} ${statSync(path).mtimeMs} ${createHash('sha256').update(content).digest('hex')}`
    })
}

import { describe, expect, test } from 'bun:test'
import type { z } from 'zod'
import { insertGeneration } from '../../../../test/support/generations.ts'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { readConfig } from '../../../config.ts'
import { settingsFields } from '../../../gateway/settings.ts'
import { describeEnvironment } from '../../../gateway/settings-view.ts'
import { settingKinds } from '../../../platform/validation/setting-fields.ts'

const canaries = Array.from({ length: 11 }, (_, index) => `canary-${index}-x7Qw9ZtB`)
const [key, accessKey, secretKey, header, user, smtp, bucketId, bucketSecret, exa, ocr, query] = canaries

/** A secret wherever a setting can have one. */
const settings = `
public_url: https://${user}:${user}@gate.example.com/?token=${query}
smtp: { host: 127.0.0.1, tls: none, user: headgate, password: ${smtp}, from: gate@example.com }
files:
  s3: { endpoint: 'http://127.0.0.1:9', bucket: files, access_key_id: ${bucketId}, secret_access_key: ${bucketSecret} }
web:
  engines:
    exa: { api_key: ${exa}, base_url: 'https://${user}:${user}@search.example.com' }
file_parser:
  ocr: { api_key: ${ocr} }
limits:
  heartbeat: 2.5
trusted_proxies: [10.0.0.0/8, '::1']
oauth: { member_key_limit: 12.5 }
regions: { hosts: { EU.example.com: europe } }
providers:
  - slug: openai
    api_key: ${key}
    headers: { x-team: ${header} }
  - slug: amazon-bedrock
    credentials: { accessKeyId: ${accessKey}, secretAccessKey: ${secretKey}, region: eu-west-1 }
`

describeOnEachDatabase(
  'GET /system',
  (server) => {
    const read = async () => (await server().call('GET', '/system')).body.data

    test('R40 no secret of the configuration is shown, in any of the settings that can have one', async () => {
      const { status, body } = await server().call('GET', '/system')
      expect(status).toBe(200)
      const text = JSON.stringify(body)
      for (const canary of canaries) expect(text).not.toContain(canary)
      expect(body.data.settings).toMatchObject({
        public_url: 'https://********@gate.example.com/?********',
        smtp: { user: 'headgate', password: '********' },
        files: { s3: { bucket: 'files', access_key_id: '********', secret_access_key: '********' } },
        web: { engines: { exa: { api_key: '********', base_url: 'https://********@search.example.com/' } } },
        file_parser: { ocr: { api_key: '********' } },
        providers: [
          { slug: 'openai', api_key: '********', headers: { 'x-team': '********' } },
          { slug: 'amazon-bedrock', credentials: '********' },
        ],
      })
    })

    test('settings are in the units of headgate.yaml, with defaults', async () => {
      const { settings } = await read()
      expect(settings).toMatchObject({
        limits: { heartbeat: 2.5, connect: 10, body_rate: 4096 },
        trusted_proxies: ['10.0.0.0/8', '::1/128'],
        oauth: { member_key_limit: 12.5 },
        regions: { hosts: { 'eu.example.com': 'europe' } },
        containers: { engine: 'none', timeout: 120 },
        web: { timeout: 30 },
      })
    })

    test('the state of the process, the storage and the queues', async () => {
      const isPostgres = server().gateway.config.databaseUrl.startsWith('postgres')
      const before = await read()
      expect(before).toMatchObject({
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        runtime: { name: 'bun', version: Bun.version },
        node: { id: server().gateway.node.id, open_streams: 0 },
        nodes: 1,
        storage: isPostgres
          ? { mode: 'shared', database: 'postgresql', journal_bytes: expect.any(Number), files: 'bucket' }
          : { mode: 'embedded', database: 'sqlite', files: 'bucket' },
      })
      expect(before.node.memory_bytes).toBeGreaterThan(1_000_000)
      expect(before.storage.database_bytes).toBeGreaterThan(10_000)
      const codes = before.warnings.map(({ code }: { code: string }) => code)
      expect(codes.includes('embedded_database')).toBe(!isPostgres)
      const values = ['u1', 'u2', 'u3'].map((id) => ({
        generation_id: id,
        organization_id: server().own.organization.id,
        previous: null,
      }))
      await server().gateway.db.insertInto('unrolled_generations').values(values).execute()
      const queueOf = (data: typeof before, name: string) =>
        data.queues.find((queue: { name: string }) => queue.name === name)
      const added = queueOf(await read(), 'roll_ups').waiting - queueOf(before, 'roll_ups').waiting
      expect(added).toBe(3)
      await server()
        .gateway.db.deleteFrom('unrolled_generations')
        .where('generation_id', 'in', ['u1', 'u2', 'u3'])
        .execute()
      expect(before.queues.every(({ is_capped }: { is_capped: boolean }) => !is_capped)).toBe(true)
    })

    test('the overhead leaves out requests that failed over', async () => {
      const { gateway, own, clock } = server()
      const ended_at = new Date(clock.now()).toISOString()
      for (const [dispatch_ms, attempts] of [
        ...Array.from({ length: 99 }, () => [4, '[]'] as const),
        [80, '[]'] as const,
        [9000, '[{}]'] as const,
        [null, '[]'] as const,
      ])
        await insertGeneration(gateway, own, { dispatch_ms, attempts, ended_at })
      expect((await read()).overhead).toEqual({ requests: 100, p50_ms: 4, p99_ms: 4 })
      await insertGeneration(gateway, own, { dispatch_ms: 80, ended_at })
      expect((await read()).overhead).toEqual({ requests: 101, p50_ms: 4, p99_ms: 80 })
    })

    test('R37 only the organization that operates the installation reads it', async () => {
      const { foreign, own } = server()
      for (const key of [foreign.managementKey, own.inferenceKey])
        expect((await server().call('GET', '/system', { key })).status).toBe(403)
    })
  },
  { settings },
)

describe('The configuration as it is shown', () => {
  test('R40 environment variables are shown without their secrets', () => {
    const config = readConfig({
      DATABASE_URL: `postgres://${user}:${key}@db.example.com:5432/gate?password=${query}`,
      REDIS_URL: `redis://:${key}@cache.example.com,other.example.com:26380?sentinel=main`,
      REDIS_SENTINEL_PASSWORD: `${key}`,
      HEADGATE_MANAGEMENT_KEY: `${key}`,
      HEADGATE_SECRET_KEY: `${secretKey}`,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `https://traces.example.com/v1?key=${query}`,
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: `x-key=${header}`,
      OPENAI_API_KEY: `${exa}`,
    })
    const shown = describeEnvironment(config)
    for (const canary of canaries) expect(JSON.stringify(shown)).not.toContain(canary)
    expect(shown).toMatchObject({
      DATABASE_URL: 'postgres://********@db.example.com:5432/gate?********',
      REDIS_URL: 'redis://********@cache.example.com,other.example.com:26380?sentinel=main',
      REDIS_SENTINEL_PASSWORD: '********',
      HEADGATE_SECRET_KEY: '********',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-key=********',
    })
  })

  test('R40 every setting with the name of a secret is declared as one', () => {
    const undeclared = listFields(settingsFields, '')
    expect(undeclared.filter((path) => secretName.test(path.split('.').at(-1) ?? ''))).toEqual([])
  })
})

const secretName = /(^|_)(key|key_id|secret|password|credentials?|(api|access|bearer)_token)$|^token$/

/** The paths of the fields with text that are not declared as secrets. */
function listFields(schema: z.core.$ZodType, path: string): string[] {
  if (settingKinds.get(schema)?.kind === 'secret') return []
  const { def } = (schema as z.core.$ZodTypes)._zod
  const inner = (next: z.core.$ZodType, name = '') => listFields(next, name === '' ? path : `${path}.${name}`)
  switch (def.type) {
    case 'object':
      return Object.entries(def.shape).flatMap(([name, field]) => inner(field, name))
    case 'record':
      return inner(def.valueType, 'value')
    case 'array':
      return inner(def.element)
    case 'union':
      return def.options.flatMap((option) => inner(option))
    case 'pipe':
      return inner(def.in)
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return inner(def.innerType)
    case 'string':
      return [path]
    default:
      return []
  }
}

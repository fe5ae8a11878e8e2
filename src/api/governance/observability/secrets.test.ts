import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'
import { describeOnEachDatabase, type TestServer } from '../../../../test/support/harness.ts'
import type { Db } from '../../../platform/db/db.ts'

interface Seen {
  url: string
  method: string
  headers: Headers
  body: string
}

const summary: Seen[] = []
let status = 200
const receive = async (request: Request) => {
  const { method, headers, url } = request
  summary.push({ method, headers, url, body: await request.text() })
  return new Response('received', { status, headers: status === 302 ? { location: '/elsewhere' } : {} })
}
/** Two listeners, so that a request can reach the wrong one. */
const receivers = [1, 2].map(() => Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: receive }))
afterAll(() => Promise.all(receivers.map((receiver) => receiver.stop(true))))
const [first = '', second = ''] = receivers.map(({ port }) => `http://127.0.0.1:${port}`)
const settings = `egress: { allow_private: [${receivers.map(({ port }) => `"127.0.0.1:${port}"`).join(', ')}] }`

const base = '/observability/destinations'
const canary = 'canary-5ecret-value-0123456789'

describeOnEachDatabase(
  'Secrets of destinations',
  (server) => {
    beforeEach(() => {
      summary.length = 0
      status = 200
    })
    const create = async (type: string, config: object) => {
      const slug = `w-${crypto.randomUUID().slice(0, 8)}`
      const { body } = await server().call('POST', '/workspaces', { body: { name: slug, slug } })
      const workspace_id = body.data.id
      const made = await server().call('POST', base, { body: { type, name: 'x', workspace_id, config } })
      expect(made.status).toBe(201)
      return made.body.data
    }
    const patch = async (id: string, config: object) =>
      (await server().call('PATCH', `${base}/${id}`, { body: { config } })).body.data
    const attempt = async (id: string) => (await server().call('POST', `${base}/${id}/test`)).body.data

    describe('E17 masking', () => {
      test('E17 secrets are masked in every response, header values entirely', async () => {
        const made = await create('langfuse', {
          publicKey: 'pk-lf-public',
          secretKey: canary,
          headers: { 'X-Team': canary },
        })
        const masked = {
          publicKey: 'pk-lf-public',
          secretKey: 'can********789',
          baseUrl: 'https://us.cloud.langfuse.com',
          headers: { 'X-Team': '********' },
        }
        expect(made.config).toEqual(masked)
        const read = await server().call('GET', `${base}/${made.id}`)
        const listed = await server().call('GET', `${base}?workspace_id=${made.workspace_id}`)
        const changed = await server().call('PATCH', `${base}/${made.id}`, { body: { name: 'y' } })
        for (const config of [read.body.data.config, listed.body.data[0].config, changed.body.data.config]) {
          expect(config).toEqual(masked)
        }
      })

      test('E17 a masked or absent field stays unchanged, null clears an optional field', async () => {
        const { id, config } = await create('otel-collector', {
          endpoint: `${first}/v1/traces`,
          headers: { 'X-Keep': 'keep-me', 'X-Drop': 'drop-me', 'X-Change': 'old' },
        })
        const { 'X-Keep': keep } = config.headers
        await patch(id, config)
        await patch(id, { endpoint: `${first}/other` })
        await patch(id, { headers: { 'x-keep': keep, 'X-Change': 'new', 'X-Never': '********' } })
        expect(await attempt(id)).toMatchObject({ delivered: true })
        expect(summary[0]?.url).toBe(`${first}/other`)
        const headers = summary[0]?.headers
        expect(headers?.get('x-keep')).toBe('keep-me')
        expect(headers?.get('x-change')).toBe('new')
        expect(headers?.has('x-drop')).toBe(false)
        expect(headers?.has('x-never')).toBe(false)
        expect((await patch(id, { headers: null })).config).toEqual({ endpoint: `${first}/other` })
      })

      test('E17 a mask from before a rotation does not overwrite the secret', async () => {
        const { id, config } = await create('langfuse', {
          publicKey: 'p',
          secretKey: canary,
          baseUrl: first,
        })
        await patch(id, { secretKey: 'another-secret-value-9876543210' })
        await patch(id, { secretKey: config.secretKey })
        await patch(id, { secretKey: ` ${config.secretKey} ` })
        await patch(id, { secretKey: ' ********' })
        await attempt(id)
        expect(summary[0]?.headers.get('authorization')).toBe(
          `Basic ${btoa('p:another-secret-value-9876543210')}`,
        )
      })

      test('E17 a cleared field has its default again', async () => {
        const { id } = await create('langsmith', { apiKey: 'k', project: 'mine', workspaceId: 'w' })
        const { config } = await patch(id, { project: null, workspaceId: null })
        expect(config).toEqual({
          apiKey: '********',
          endpoint: 'https://api.smith.langchain.com',
          project: 'main',
        })
      })
    })

    describe('E17 S6 the origin a secret was entered for', () => {
      test('E17 S6 after a change of origin the secrets stay stored, and are not sent until all are entered again', async () => {
        const { id, secrets_held_back } = await create('langfuse', {
          publicKey: 'p',
          secretKey: canary,
          baseUrl: first,
          headers: { 'x-a': canary },
        })
        expect(secrets_held_back).toBe(false)
        expect((await patch(id, { baseUrl: second })).secrets_held_back).toBe(true)
        const held = await attempt(id)
        expect(held).toMatchObject({ delivered: false, status: null })
        expect(held.error).toContain(first)
        expect((await patch(id, { secretKey: 'again' })).secrets_held_back).toBe(true)
        expect((await patch(id, { headers: { 'x-a': '********' } })).secrets_held_back).toBe(true)
        expect((await patch(id, { headers: { 'x-b': 'new' } })).secrets_held_back).toBe(true)
        await attempt(id)
        expect(summary).toHaveLength(0)
        const released = await patch(id, { secretKey: 'again', headers: { 'x-a': 'again' } })
        expect(released.secrets_held_back).toBe(false)
        expect(await attempt(id)).toMatchObject({ delivered: true, status: 200 })
        expect(summary[0]?.url).toStartWith(second)
        expect(summary[0]?.headers.get('x-a')).toBe('again')
      })

      test('E17 S6 a change back, or one with all secrets, sends them', async () => {
        const { id } = await create('grafana', { apiKey: canary, instanceId: '1', baseUrl: first })
        await patch(id, { baseUrl: second })
        expect((await patch(id, { baseUrl: `${first}/sub` })).secrets_held_back).toBe(false)
        expect((await patch(id, { baseUrl: second, apiKey: 'new' })).secrets_held_back).toBe(false)
      })

      test('E17 S6 without secrets nothing is withheld', async () => {
        const { id } = await create('webhook', { url: first })
        expect((await patch(id, { url: second })).secrets_held_back).toBe(false)
        expect((await patch(id, { headers: { 'x-a': 'b' } })).secrets_held_back).toBe(false)
        expect(await attempt(id)).toMatchObject({ delivered: true })
      })

      test('E17 S6 another region is another origin', async () => {
        const { id } = await create('newrelic', { licenseKey: canary })
        expect((await patch(id, { region: 'eu' })).secrets_held_back).toBe(true)
      })
    })

    describe('POST /observability/destinations/{id}/test', () => {
      test('a webhook gets an empty export, marked as a test, with its configured method and headers', async () => {
        const { id } = await create('webhook', {
          url: `${first}/in?x=1`,
          method: 'PUT',
          headers: { Authorization: 'Bearer mine' },
        })
        expect(await attempt(id)).toEqual({
          delivered: true,
          status: 200,
          error: null,
          duration_ms: expect.any(Number),
        })
        expect(summary[0]).toMatchObject({
          url: `${first}/in?x=1`,
          method: 'PUT',
          body: '{"resourceSpans":[]}',
        })
        expect(summary[0]?.headers.get('x-test-connection')).toBe('true')
        expect(summary[0]?.headers.get('content-type')).toBe('application/json')
        expect(summary[0]?.headers.get('authorization')).toBe('Bearer mine')
      })

      test.each([
        ['otel-collector', { endpoint: `${first}/v1/traces` }],
        ['clickhouse', { host: first, database: 'd', username: 'u', password: 'p' }],
        ['datadog', { apiKey: 'k', mlApp: 'm', url: first }],
        ['posthog', { apiKey: 'k', endpoint: first }],
        ['ramp', { apiKey: 'k', baseUrl: first }],
        ['s3', { bucketName: 'b', accessKeyId: 'a', secretAccessKey: 's', endpoint: first }],
        ['weave', { apiKey: 'k', entity: 'e', project: 'p', baseUrl: first }],
      ])('%s receives a request', async (type, config) => {
        const { id } = await create(type, config)
        expect(await attempt(id)).toMatchObject({ delivered: true, status: 200 })
        expect(summary).toHaveLength(1)
      })

      test.each([
        [204, true],
        [400, true],
        [302, false],
        [401, false],
        [500, false],
      ])('status %i means delivered: %p', async (answered, delivered) => {
        const { id } = await create('otel-collector', { endpoint: first })
        status = answered
        const result = await attempt(id)
        expect(result).toMatchObject({ delivered, status: answered })
        expect(result.error === null).toBe(delivered)
        expect(summary).toHaveLength(1)
      })

      test('a rejected query is not delivered', async () => {
        const { id } = await create('clickhouse', {
          host: first,
          database: 'd',
          username: 'u',
          password: 'p',
        })
        status = 400
        expect(await attempt(id)).toMatchObject({ delivered: false, status: 400 })
      })

      test('S5 a private address is rejected when it is saved, with a remedy for the operator', async () => {
        const body = { type: 'webhook', name: 'x', config: { url: 'https://127.0.0.1:9/' } }
        const { status, body: response } = await server().call('POST', base, { body })
        expect([status, response.error.message]).toEqual([
          400,
          expect.stringContaining('egress.allow_private'),
        ])
      })

      test('without an address nothing is sent', async () => {
        const { id } = await create('ramp', { apiKey: 'k' })
        expect(await attempt(id)).toMatchObject({
          delivered: false,
          error: expect.stringContaining('baseUrl'),
        })
      })
    })

    test('R40 S12 a planted secret is in no response, no log line and no row', async () => {
      const lines = captureLog(server())
      const responses: unknown[] = []
      const call = async (method: string, path: string, body?: unknown) => {
        const response = await server().call(method, path, body === undefined ? {} : { body })
        responses.push(response.body, [...response.headers])
        return response.body
      }
      const config = { publicKey: 'p', secretKey: canary, baseUrl: first, headers: { 'x-a': `h-${canary}` } }
      const { data } = await call('POST', base, { type: 'langfuse', name: 'x', config })
      const path = `${base}/${data.id}`
      await call('GET', path)
      await call('GET', base)
      await call('PATCH', path, { config: { secretKey: `${canary}-2`, baseUrl: second } })
      await call('PATCH', path, { config: { secretKey: { nested: canary } } })
      await call('PATCH', path, { config: { headers: { 'bad name': canary } } })
      await call('POST', base, {
        type: 'langfuse',
        name: 'x',
        config: { ...config, baseUrl: 'http://a.example' },
      })
      await call('POST', `${path}/test`)
      // An internal error is logged with its cause: the encrypted text is corrupted.
      const sabotage = (sealed_secrets: string) =>
        server().gateway.db.updateTable('destinations').set({ sealed_secrets }).where('id', '=', data.id)
      const row = await server()
        .gateway.db.selectFrom('destinations')
        .select('sealed_secrets')
        .where('id', '=', data.id)
        .executeTakeFirstOrThrow()
      await sabotage('v1.AAAA').execute()
      await call('GET', path)
      await sabotage(row.sealed_secrets).execute()
      expect(lines.length).toBeGreaterThan(0)
      for (const text of [JSON.stringify(responses), lines.join(''), await dump(server().gateway.db)]) {
        expect(text).not.toContain('5ecret')
        expect(text).not.toContain(btoa(canary).slice(4, 20))
      }
      await call('DELETE', path)
    })

    test('an encrypted text cannot be decrypted in another row', async () => {
      const one = await create('posthog', { apiKey: canary })
      const other = await create('posthog', { apiKey: 'other' })
      const { db } = server().gateway
      const { sealed_secrets } = await db
        .selectFrom('destinations')
        .select('sealed_secrets')
        .where('id', '=', one.id)
        .executeTakeFirstOrThrow()
      await db.updateTable('destinations').set({ sealed_secrets }).where('id', '=', other.id).execute()
      expect((await server().call('GET', `${base}/${other.id}`)).status).toBe(500)
    })
  },
  { settings },
)

function captureLog(server: TestServer): string[] {
  const lines: string[] = []
  const stream = new Writable({
    write: (chunk, _, done) => {
      lines.push(String(chunk))
      done()
    },
  })
  const gateway = server.gateway as { log: Logger }
  gateway.log = pino({ level: 'trace' }, stream)
  return lines
}

/** Every row of every table. */
async function dump(db: Db): Promise<string> {
  const tables = await db.introspection.getTables()
  const rows = await Promise.all(
    tables.map(({ name }) =>
      db
        .selectFrom(name as 'destinations')
        .selectAll()
        .execute(),
    ),
  )
  expect(rows.flat().length).toBeGreaterThan(5)
  return JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

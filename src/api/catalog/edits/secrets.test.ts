import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { startUpstream, type Upstream } from '../../../../test/support/upstream.ts'
import {
  incrementCatalogVersion,
  type OverrideRow,
  removeOverride,
  saveOverride,
} from '../../../catalog/store.ts'
import { pollOverrides, reloadSettings } from '../../../gateway/reload.ts'

const canary = 'canary-5ecret-value-0123456789'
const shown = 'can********789'

const filed = (url: string) => `
providers:
  - { slug: filed, name: Filed, base_url: "${url}", api_key: ${canary}-filed, dialects: [chat], headers: { x-team: "${canary}" } }
  - { slug: open, name: Open, base_url: "${url}", dialects: [chat] }
models:
  - { id: acme/filed, name: Filed, endpoints: [{ provider: filed, upstream_model: m }] }
  - { id: acme/open, name: Open, endpoints: [{ provider: open, upstream_model: m }] }
  - { id: acme/known, name: Known, endpoints: [{ provider: groq, upstream_model: m }] }
`

describeOnEachDatabase(
  'secrets of the catalog',
  (server) => {
    let upstream: Upstream
    let elsewhere: Upstream
    beforeAll(async () => {
      ;[upstream, elsewhere] = await Promise.all([startUpstream(), startUpstream()])
      await reload(filed(`${upstream.url}/v1`))
    })
    afterAll(() => Promise.all([upstream.stop(), elsewhere.stop()]))
    afterEach(async () => {
      const { gateway } = server()
      await gateway.db.transaction().execute(async (tx) => {
        await incrementCatalogVersion(tx)
        for (const row of gateway.overrides.rows) await removeOverride(tx, row)
      })
      await pollOverrides(gateway)
      for (const { requests } of [upstream, elsewhere]) requests.length = 0
    })

    const reload = async (text: string) => {
      await Bun.write(server().gateway.config.environment.HEADGATE_CONFIG ?? '', text)
      reloadSettings(server().gateway)
    }
    const put = (slug: string, body: unknown) =>
      server().call('PUT', `/catalogue/providers/${slug}`, { body })
    const get = async (slug: string) => (await server().call('GET', `/catalogue/providers/${slug}`)).body.data
    const local = (more = {}) => ({ name: 'L', base_url: `${upstream.url}/v1`, dialects: ['chat'], ...more })
    const rejected = async (slug: string, body: unknown, field: string) => {
      const { status, body: response } = await put(slug, body)
      expect(status).toBe(400)
      expect(response.error.message).toStartWith(`${field}:`)
      expect(JSON.stringify(response)).not.toContain('5ecret')
    }
    const send = async (model: string) => {
      const body = { model, messages: [{ role: 'user', content: 'Hello' }] }
      return server().call('POST', '/chat/completions', { key: server().own.inferenceKey, body })
    }
    const lastKey = ({ requests }: Upstream) => requests.at(-1)?.headers.authorization

    test('a key is encrypted, shown masked, and decrypted from its own row alone', async () => {
      const { body } = await put('local', local({ api_key: canary, headers: { 'x-team': canary } }))
      expect(body.data.edit.fields).toEqual(local({ api_key: shown, headers: { 'x-team': '********' } }))
      expect(body.data.in_force).toMatchObject({ api_key: shown, headers: { 'x-team': '********' } })
      expect(await get('local')).toEqual(body.data)
      const { vault, overrides } = server().gateway
      expect(JSON.stringify(overrides.rows)).not.toContain('5ecret')
      const encrypted = overrides.rows[0]?.sealed_secrets ?? ''
      expect(vault.decrypt(encrypted, 'catalogue/provider/local')).toContain(canary)
      expect(() => vault.decrypt(encrypted, 'catalogue/provider/other')).toThrow()
    })

    test('a masked value sent back stays unchanged; an absent one is removed', async () => {
      await put('groq', { base_url: upstream.url, api_key: canary, headers: { 'x-a': 'one', 'x-b': 'two' } })
      await put('groq', {
        name: 'Renamed',
        base_url: `${upstream.url}/v2`,
        api_key: shown,
        headers: { 'x-a': '********', 'x-c': 'three' },
      })
      expect((await send('acme/known')).status).toBe(200)
      const { path, headers } = upstream.requests.at(-1)!
      expect(path).toBe('/v2/chat/completions')
      expect(headers).toMatchObject({ authorization: `Bearer ${canary}`, 'x-a': 'one', 'x-c': 'three' })
      expect(headers['x-b']).toBeUndefined()
    })

    test('a masked value without a stored secret is rejected', async () => {
      await rejected('local', local({ api_key: shown }), 'api_key')
      await rejected('local', local({ headers: { 'x-team': '********' } }), 'headers.x-team')
    })

    test('S6 a key that was entered for one origin is not sent to another', async () => {
      await put('local', local({ api_key: canary, headers: { 'x-team': canary } }))
      const moved = { base_url: `${elsewhere.url}/v1` }
      await rejected('local', local({ ...moved, api_key: shown }), 'api_key')
      await rejected(
        'local',
        local({ ...moved, api_key: 'anew', headers: { 'x-team': '********' } }),
        'headers.x-team',
      )
      expect((await get('local')).in_force.base_url).toBe(`${upstream.url}/v1`)
      expect((await put('local', local({ ...moved, api_key: 'anew' }))).status).toBe(200)
    })

    test('S6 nor when deleting the override restores the address', async () => {
      await put('open', { base_url: `${elsewhere.url}/v1`, api_key: canary })
      await rejected('open', { api_key: shown }, 'api_key')
      await server().call('DELETE', '/catalogue/providers/open')
      expect((await send('acme/open')).status).toBe(200)
      expect(lastKey(upstream)).toBeUndefined()
    })

    test('S6 the keys of the environment and of headgate.yaml stay with their addresses', async () => {
      const base_url = `${elsewhere.url}/v1`
      await rejected('groq', { base_url }, 'api_key')
      await rejected('groq', { base_url, headers: { 'x-a': 'b' } }, 'api_key')
      await rejected('filed', { base_url }, 'api_key')
      await rejected('filed', { base_url, api_key: 'mine' }, 'headers')
      await rejected('groq', { base_url: `${elsewhere.url}/{GROQ_API_KEY}`, api_key: 'mine' }, 'base_url')
      expect((await put('groq', { base_url, api_key: 'mine' })).status).toBe(200)
      expect((await put('filed', { base_url, api_key: 'mine', headers: {} })).status).toBe(200)
      for (const model of ['acme/known', 'acme/filed']) expect((await send(model)).status).toBe(200)
      expect(elsewhere.requests).toHaveLength(2)
      expect(JSON.stringify(elsewhere.requests)).not.toContain('5ecret')
      expect(lastKey(elsewhere)).toBe('Bearer mine')
    })

    test('S6 a key is not used, and its problem is shown, when headgate.yaml changes the address', async () => {
      await put('open', { api_key: canary })
      expect((await send('acme/open')).status).toBe(200)
      expect(lastKey(upstream)).toBe(`Bearer ${canary}`)
      await reload(filed(`${elsewhere.url}/v1`))
      expect((await send('acme/open')).status).toBe(200)
      expect(lastKey(elsewhere)).toBeUndefined()
      expect(await get('open')).toMatchObject({
        edit: {
          problem: 'api_key: was entered for another origin; enter it again',
          fields: { api_key: shown },
        },
        in_force: { api_key: null, base_url: `${elsewhere.url}/v1` },
      })
      await reload(filed(`${upstream.url}/v1`))
      expect(await get('open')).toMatchObject({ edit: { problem: null }, in_force: { api_key: shown } })
    })

    test('R40 S12 secrets are in no response, no log and no row', async () => {
      const lines = logged()
      const responses: unknown[] = []
      const keep = async (method: string, path: string, body?: unknown) => {
        const { body: response, headers } = await server().call(method, `/catalogue/providers${path}`, {
          body,
        })
        responses.push(response, [...headers])
      }
      await keep('PUT', '/local', local({ api_key: canary, headers: { 'x-team': canary } }))
      await keep('PUT', '/local', local({ api_key: { nested: canary } }))
      await keep('PUT', '/local', local({ api_key: shown, base_url: 'http://127.0.0.1:9' }))
      await keep('GET', '/local')
      await keep('GET', '')
      await keep('GET', '?source=runtime')
      const rows = await server().gateway.db.selectFrom('catalogue_edits').selectAll().execute()
      await keep('DELETE', '/local')
      expect(rows).toHaveLength(1)
      expect(JSON.stringify([responses, rows, lines])).not.toContain('5ecret')
    })

    describe('a row written by another version, or by hand', () => {
      const row = (name: string, more: Partial<OverrideRow> = {}): OverrideRow => ({
        kind: 'provider',
        name,
        tag: '',
        fields: JSON.stringify(local()),
        sealed_secrets: null,
        updated_at: '2026-01-01T00:00:00.000Z',
        ...more,
      })
      const write = async (...rows: OverrideRow[]) => {
        const { gateway } = server()
        await gateway.db.transaction().execute(async (tx) => {
          await incrementCatalogVersion(tx)
          for (const each of rows) await saveOverride(tx, each)
        })
        await pollOverrides(gateway)
      }

      test('is skipped if it cannot be read, logged once, and shown', async () => {
        const lines = logged()
        const model = { kind: 'model', fields: '[]' } as const
        await write(
          row('fine'),
          row('torn', { fields: '{"name"' }),
          row('newer', { fields: JSON.stringify({ ...local(), of_the_future: 1 }) }),
          row('sealed', { sealed_secrets: 'v1.AAAA' }),
          row('acme/open', model),
          row('acme/known', { kind: 'endpoint', tag: 'groq', fields: '{"pricing":"free"}' }),
        )
        await write(row('fine'))
        const problemOf = async (slug: string) => (await get(slug)).edit.problem
        expect(await problemOf('fine')).toBeNull()
        expect(await problemOf('torn')).toBe('fields: is not JSON')
        expect(await problemOf('newer')).toBe('of_the_future: is not a known field')
        expect(await problemOf('sealed')).toBe('api_key: cannot be decrypted; enter it again')
        expect(await get('torn')).toMatchObject({ enabled: false, edit: { fields: null }, in_force: null })
        const models = (await server().call('GET', '/catalogue/models?source=runtime')).body.data
        expect(models).toMatchObject([
          {
            id: 'acme/open',
            edit: { fields: null, problem: expect.any(String) },
            in_force: { name: 'Open' },
          },
          { id: 'acme/known', endpoint_edits: [{ tag: 'groq', fields: null, problem: expect.any(String) }] },
        ])
        expect((await send('acme/known')).status).not.toBe(400)
        const warnings = lines.filter((line) => line.includes('catalog override ignored'))
        expect(warnings).toHaveLength(5)
      })

      test('can be corrected, and deleted', async () => {
        await write(row('torn', { fields: '{' }), row('sealed', { sealed_secrets: 'v1.AAAA' }))
        await rejected('sealed', local({ api_key: '********' }), 'api_key')
        expect((await put('sealed', local({ api_key: canary }))).body.data.edit.problem).toBeNull()
        expect((await server().call('DELETE', '/catalogue/providers/torn')).status).toBe(200)
      })
    })

    function logged(): string[] {
      const lines: string[] = []
      const stream = new Writable({
        write: (chunk, _, done) => {
          lines.push(String(chunk))
          done()
        },
      })
      const gateway = server().gateway as { log: Logger }
      gateway.log = pino({ level: 'trace' }, stream)
      return lines
    }
  },
  { environment: { GROQ_API_KEY: `${canary}-environment` } },
)

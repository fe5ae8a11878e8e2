import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { describeOnEachDatabase, resetRouting } from '../../../../test/support/harness.ts'
import { startUpstream, type Upstream } from '../../../../test/support/upstream.ts'
import { installOverrides, pollOverrides, reloadSettings } from '../../../gateway/reload.ts'
import { closeDb, openDb } from '../../../platform/db/db.ts'

const fromFile = `
providers:
  - { slug: filed, name: Filed, base_url: "http://127.0.0.1:9/v1", api_key: key-of-the-file-0123456789, dialects: [chat] }
models:
  - id: acme/filed
    name: Filed
    aliases: [acme/alias]
    endpoints: [{ provider: filed, upstream_model: filed, pricing: { prompt: "0.001", completion: "0.002" } }]
`

const price = (prompt: string, completion = '0') => ({ prompt, completion })

describeOnEachDatabase(
  'editing the catalog',
  (server) => {
    let upstream: Upstream
    beforeAll(async () => {
      upstream = await startUpstream()
    })
    afterAll(() => upstream.stop())
    afterEach(async () => {
      for (const { kind, name, tag } of server().gateway.overrides.rows) {
        const rest = kind === 'provider' ? '' : tag && `/endpoints/${encodeURIComponent(tag)}`
        await remove(`${kind === 'provider' ? 'providers' : 'models'}/${name}${rest}`)
      }
      expect(server().gateway.overrides.rows).toEqual([])
    })

    const put = (path: string, body: unknown) => server().call('PUT', `/catalogue/${path}`, { body })
    const get = (path: string) => server().call('GET', `/catalogue/${path}`)
    const remove = (path: string) => server().call('DELETE', `/catalogue/${path}`)
    const done = async (response: Promise<{ status: number; body: { data: unknown } }>) => {
      const { status, body } = await response
      expect({ status, body }).toMatchObject({ status: 200 })
    }
    const provider = (more = {}) => ({
      name: 'Local',
      base_url: `${upstream.url}/v1`,
      dialects: ['chat'],
      ...more,
    })
    const model = (more = {}) => ({
      name: 'Fast',
      endpoints: [{ provider: 'local', upstream_model: 'fast', pricing: price('0.001', '0.002') }],
      ...more,
    })
    const send = (name: string, headers = {}) =>
      server().call('POST', '/chat/completions', {
        key: server().own.inferenceKey,
        headers,
        body: { model: name, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] },
      })
    const shown = async (path: string) => (await server().call('GET', path)).body.data

    test('a provider and a model are added, shown everywhere, and called', async () => {
      await done(put('providers/local', provider({ api_key: 'key-of-the-operator-0123456789' })))
      await done(put('models/acme/fast', model({ context_length: 4000 })))
      expect(await shown('/providers')).toContainEqual(
        expect.objectContaining({ slug: 'local', name: 'Local' }),
      )
      expect(await shown('/model/acme/fast')).toMatchObject({ id: 'acme/fast', context_length: 4000 })
      expect((await shown('/models/acme/fast/endpoints')).endpoints).toMatchObject([
        { tag: 'local', pricing: { prompt: '0.001', completion: '0.002' } },
      ])
      const response = await send('acme/fast')
      expect(response.status).toBe(200)
      // 87 prompt tokens and 41 completion tokens, as the upstream counts them.
      expect(response.body.usage.cost).toBe(0.169)
      const { path, headers, json } = upstream.requests.at(-1)!
      expect(path).toBe('/v1/chat/completions')
      expect(json.model).toBe('fast')
      expect(headers.authorization).toBe('Bearer key-of-the-operator-0123456789')
    })

    test('a changed price counts for requests that come after it', async () => {
      await done(put('providers/local', provider()))
      await done(put('models/acme/fast', model()))
      upstream.enqueue(() => ({ waitMs: 200, ...{ json: reply } }))
      const under = send('acme/fast')
      await upstream.waitForRequests(upstream.requests.length + 1)
      await done(put('models/acme/fast/endpoints/local', { pricing: price('0.01', '0.02') }))
      expect((await under).body.usage.cost).toBe(0.005)
      upstream.enqueue({ json: reply })
      expect((await send('acme/fast')).body.usage.cost).toBe(0.05)
      await done(remove('models/acme/fast/endpoints/local'))
      upstream.enqueue({ json: reply })
      expect((await send('acme/fast')).body.usage.cost).toBe(0.005)
    })

    test('an override invalidates cached replies', async () => {
      const status = async () =>
        (await send('sandbox/echo', { 'x-service-cache': 'true' })).headers.get('x-service-cache-status')
      expect([await status(), await status()]).toEqual(['MISS', 'HIT'])
      await done(put('models/sandbox/echo', { description: 'Other' }))
      expect(await status()).toBe('MISS')
    })

    test('the price of a built-in model is changed and comes back, and nothing else of it', async () => {
      resetRouting(server())
      const before = await shown('/models/sandbox/echo/endpoints')
      const cost = (await send('sandbox/echo')).body.usage.cost
      const pricing = { ...price('0.01', '0.01'), input_cache_read: '0.01' }
      await done(put('models/sandbox/echo/endpoints/sandbox', { pricing }))
      resetRouting(server())
      const [endpoint] = (await shown('/models/sandbox/echo/endpoints')).endpoints
      expect(endpoint).toEqual({ ...before.endpoints[0], pricing })
      const response = await send('sandbox/echo')
      expect(response.body.usage.cost).toBeCloseTo(response.body.usage.total_tokens / 100, 9)
      await done(remove('models/sandbox/echo/endpoints/sandbox'))
      resetRouting(server())
      expect(await shown('/models/sandbox/echo/endpoints')).toEqual(before)
      expect((await send('sandbox/echo')).body.usage.cost).toBe(cost)
    })

    test('an endpoint is added to a built-in model, with a variant', async () => {
      await done(put('providers/local', provider()))
      const path = 'models/sandbox/echo/endpoints/local%2Fturbo'
      await done(put(path, { upstream_model: 'mine', pricing: price('0') }))
      const tags = (await shown('/models/sandbox/echo/endpoints')).endpoints.map(
        ({ tag }: { tag: string }) => tag,
      )
      expect(tags).toEqual(['sandbox', 'local/turbo'])
      expect((await send('sandbox/echo')).body.provider).toBe('Local')
      expect(upstream.requests.at(-1)?.json.model).toBe('mine')
      const { body } = await get('models/sandbox/echo')
      expect(body.data).toMatchObject({
        sources: ['built_in', 'runtime'],
        edit: null,
        endpoint_edits: [{ tag: 'local/turbo', problem: null, fields: { upstream_model: 'mine' } }],
      })
      await done(remove(path))
      expect((await send('sandbox/echo')).body.provider).not.toBe('Local')
    })

    test('a model that there is needs only what is to change; endpoints replace all of them', async () => {
      await done(put('models/acme/filed', { name: 'Renamed' }))
      const named = (await get('models/acme/filed')).body.data
      expect(named.sources).toEqual(['headgate.yaml', 'runtime'])
      expect(named.edit.fields).toEqual({ name: 'Renamed' })
      expect(named.in_force).toMatchObject({ name: 'Renamed', aliases: ['acme/alias'] })
      await done(put('models/acme/filed', { endpoints: [{ provider: 'sandbox', upstream_model: 'echo' }] }))
      const moved = (await get('models/acme/filed')).body.data
      expect(moved.in_force).toMatchObject({ name: 'Filed', endpoints: [{ provider: 'sandbox' }] })
      await done(remove('models/acme/filed'))
      expect((await get('models/acme/filed')).body.data).toMatchObject({
        sources: ['headgate.yaml'],
        in_force: { name: 'Filed', endpoints: [{ provider: 'filed' }] },
        base: null,
      })
      await done(put('models/acme/filed', { name: 'Renamed' }))
      expect((await get('models/acme/filed')).body.data).toMatchObject({
        in_force: { name: 'Renamed' },
        base: { name: 'Filed' },
      })
      await done(remove('models/acme/filed'))
    })

    test('R12 GET shows what was sent and what is in force, source by source', async () => {
      const fields = {
        name: 'Elsewhere',
        regions: ['europe'],
        data_policy: { training: false, retains: false, publishes: false },
        bills_abandoned: true,
      }
      await done(put('providers/filed', fields))
      const { data } = (await get('providers/filed')).body
      expect(data).toEqual({
        slug: 'filed',
        sources: ['headgate.yaml', 'runtime'],
        enabled: true,
        edit: { fields, problem: null, updated_at: expect.any(String) },
        in_force: {
          ...fields,
          base_url: 'http://127.0.0.1:9/v1',
          api_key: 'key********789',
          dialects: ['chat'],
          headers: {},
          abilities: ['stream_usage'],
        },
        base: expect.objectContaining({ name: 'Filed', api_key: 'key********789', bills_abandoned: false }),
      })
      const mine = (await get('providers?source=runtime')).body
      expect(mine).toEqual({ data: [data], total_count: 1 })
      expect((await get('models?source=runtime')).body).toEqual({ data: [], total_count: 0 })
      expect((await get('models?source=headgate.yaml')).body.total_count).toBe(1)
      const snapshot = (await get('models?source=snapshot&limit=2&offset=1')).body
      expect(snapshot.data).toHaveLength(2)
      expect(snapshot.total_count).toBeGreaterThan(100)
      expect((await get('models?source=elsewhere')).status).toBe(400)
    })

    test('an override replaces the previous one: fields that are not sent again are reset', async () => {
      await done(put('providers/filed', { name: 'One', headquarters: 'NO' }))
      await done(put('providers/filed', { name: 'Two' }))
      const { in_force, edit } = (await get('providers/filed')).body.data
      expect(edit.fields).toEqual({ name: 'Two' })
      expect(in_force.headquarters).toBeUndefined()
    })

    describe('400 naming the field', () => {
      const valid = { name: 'L', base_url: 'http://127.0.0.1:9', dialects: ['chat'] }
      test.each([
        ['a provider without a name', 'providers/local', { ...valid, name: undefined }, 'name'],
        ['without an address', 'providers/local', { ...valid, base_url: undefined }, 'base_url'],
        ['without a format', 'providers/local', { ...valid, dialects: undefined }, 'dialects'],
        ['an unknown format', 'providers/local', { ...valid, dialects: ['chta'] }, 'dialects.0'],
        ['another scheme', 'providers/local', { ...valid, base_url: 'ftp://a.b' }, 'base_url'],
        [
          'a password in the address',
          'providers/local',
          { ...valid, base_url: 'http://u:p@a.b' },
          'base_url',
        ],
        [
          'a query in the address',
          'providers/local',
          { ...valid, base_url: 'http://a.b/v1?key=x' },
          'base_url',
        ],
        ['a key of two lines', 'providers/local', { ...valid, api_key: 'one\r\ntwo' }, 'api_key'],
        ['a header of two lines', 'providers/local', { ...valid, headers: { 'x-a': 'a\nb' } }, 'headers.x-a'],
        ['a gap in the address', 'providers/local', { ...valid, base_url: 'http://a.b/{HOME}' }, 'base_url'],
        ['R12 an unknown field', 'providers/local', { ...valid, slug: 'local' }, 'slug'],
        ['a slug in capitals', 'providers/Local', valid, 'slug'],
        [
          'a model without a name',
          'models/a/b',
          { endpoints: [{ provider: 'sandbox', upstream_model: 'm' }] },
          'name',
        ],
        ['without endpoints', 'models/a/b', { name: 'B' }, 'endpoints'],
        ['with none', 'models/a/b', { name: 'B', endpoints: [] }, 'endpoints'],
        [
          'of an unknown provider',
          'models/a/b',
          { name: 'B', endpoints: [{ provider: 'nobody', upstream_model: 'm' }] },
          'endpoints.0.provider',
        ],
        [
          'a price that is a number',
          'models/a/b',
          {
            name: 'B',
            endpoints: [
              { provider: 'sandbox', upstream_model: 'm', pricing: { prompt: 1, completion: '1' } },
            ],
          },
          'endpoints.0.pricing.prompt',
        ],
        ['R12 an unknown field of a model', 'models/acme/filed', { id: 'a/b' }, 'id'],
        ['an alias of another', 'models/sandbox/echo', { aliases: ['x/y', 'acme/alias'] }, 'aliases.1'],
        ['the id of another', 'models/sandbox/echo', { aliases: ['acme/filed'] }, 'aliases.0'],
        [
          'an id that is an alias',
          'models/acme/alias',
          { name: 'A', endpoints: [{ provider: 'filed', upstream_model: 'm' }] },
          'slug',
        ],
        [
          'an id of a router model',
          'models/service/mine',
          { name: 'A', endpoints: [{ provider: 'filed', upstream_model: 'm' }] },
          'id',
        ],
        ['an alias of a router model', 'models/sandbox/echo', { aliases: ['service/auto'] }, 'aliases.0'],
        ['a routing suffix', 'models/acme/filed:nitro', { name: 'A' }, 'slug'],
        [
          'an endpoint without a model',
          'models/sandbox/echo/endpoints/sandbox%2Fb',
          { pricing: price('1') },
          'upstream_model',
        ],
        [
          'an endpoint of an unknown provider',
          'models/sandbox/echo/endpoints/nobody',
          { upstream_model: 'm' },
          'tag',
        ],
        [
          'a service tier without its own tag',
          'models/sandbox/echo/endpoints/sandbox',
          { service_tier: 'flex' },
          'service_tier',
        ],
        ['no tag', 'models/sandbox/echo/endpoints/a%2Fb%2Fc', { upstream_model: 'm' }, 'tag'],
        [
          'half a price',
          'models/sandbox/echo/endpoints/sandbox',
          { pricing: { prompt: '1' } },
          'pricing.completion',
        ],
        [
          'a negative price',
          'models/sandbox/echo/endpoints/sandbox',
          { pricing: price('-1') },
          'pricing.prompt',
        ],
        [
          'R12 an unknown field of an endpoint',
          'models/sandbox/echo/endpoints/sandbox',
          { provider: 'x' },
          'provider',
        ],
      ])('%s', async (_, path, body, field) => {
        const response = await put(path, body)
        expect(response.status).toBe(400)
        expect(response.body.error.message).toStartWith(`${field}:`)
        expect(response.body.error.metadata.issues[0].field).toBe(field)
        expect(server().gateway.overrides.rows).toEqual([])
      })
    })

    test('404 for unknown entries and for entries without an override', async () => {
      for (const path of ['providers/nobody', 'models/a/b']) expect((await get(path)).status).toBe(404)
      for (const path of ['providers/filed', 'models/acme/filed', 'models/acme/filed/endpoints/filed']) {
        expect((await remove(path)).status).toBe(404)
      }
      expect((await put('models/a/b/endpoints/sandbox', { upstream_model: 'm' })).status).toBe(404)
    })

    test('409 while others depend on it, unless another source defines it', async () => {
      await done(put('providers/local', provider()))
      await done(put('models/acme/fast', model()))
      await done(put('models/acme/fast/endpoints/local', { pricing: price('0.01') }))
      const rejected = await remove('providers/local')
      expect(rejected.status).toBe(409)
      expect(rejected.body.error.message).toContain('model acme/fast')
      expect((await remove('models/acme/fast')).body.error.message).toContain('endpoint local of acme/fast')
      const moved = { endpoints: [{ provider: 'sandbox', upstream_model: 'echo' }] }
      expect((await put('models/acme/fast', model(moved))).status).toBe(409)
      await done(put('providers/filed', { name: 'Other' }))
      await done(remove('providers/filed'))
      expect((await send('acme/fast')).status).toBe(200)
    })

    test('another node, a restart, and a database that is away', async () => {
      const { gateway } = server()
      await done(put('providers/local', provider()))
      await done(put('models/acme/fast', model()))
      const before = { ...gateway }
      // A node that has not loaded the change yet.
      const other = { ...gateway, overrides: { ...gateway.overrides, version: -1, rows: [] } }
      await pollOverrides(other)
      expect(other.catalog.bySlug.get('acme/fast')).toEqual(gateway.catalog.bySlug.get('acme/fast'))
      const away = openDb(':memory:')
      await closeDb(away)
      await expect(pollOverrides({ ...gateway, db: away })).rejects.toThrow()
      expect(gateway.catalog).toBe(before.catalog)
      await pollOverrides(gateway)
      expect(gateway.catalog).toBe(before.catalog)
    })

    test('what was read before an edit does not undo it', async () => {
      const { gateway } = server()
      const old = { version: gateway.overrides.version, rows: gateway.overrides.rows }
      await done(put('providers/local', provider()))
      installOverrides(gateway, old)
      expect(gateway.catalog.providerByName.has('local')).toBe(true)
      const looking = pollOverrides(
        Object.assign(gateway, { overrides: { ...gateway.overrides, version: -1 } }),
      )
      await done(put('providers/local', provider({ name: 'Anew' })))
      await looking
      expect(gateway.catalog.providerByName.get('local')?.name).toBe('Anew')
    })

    test('a reload of headgate.yaml keeps the overrides; those that became invalid are skipped and shown', async () => {
      const path = server().gateway.config.environment.HEADGATE_CONFIG ?? ''
      await done(put('models/acme/filed/endpoints/filed', { pricing: price('1') }))
      await Bun.write(path, fromFile.replace('name: Filed\n    aliases', 'name: Anew\n    aliases'))
      reloadSettings(server().gateway)
      expect((await get('models/acme/filed')).body.data.in_force).toMatchObject({
        name: 'Anew',
        endpoints: [{ pricing: { prompt: '1' } }],
      })
      await Bun.write(path, '')
      reloadSettings(server().gateway)
      const { data } = (await get('models/acme/filed')).body
      expect(data).toMatchObject({
        in_force: null,
        endpoint_edits: [
          { problem: 'model: there is no model "acme/filed"', fields: { pricing: price('1') } },
        ],
      })
      await Bun.write(path, fromFile)
      reloadSettings(server().gateway)
      expect((await get('models/acme/filed')).body.data.endpoint_edits).toMatchObject([{ problem: null }])
    })

    test('concurrent writes all take effect', async () => {
      const names = Array.from({ length: 10 }, (_, index) => `models/acme/m${index}`)
      const body = { name: 'M', endpoints: [{ provider: 'sandbox', upstream_model: 'echo' }] }
      await Promise.all(names.map((name) => done(put(name, body))))
      expect((await get('models?source=runtime')).body.total_count).toBe(10)
    })
  },
  { settings: fromFile },
)

const reply = {
  id: 'r',
  object: 'chat.completion',
  created: 1,
  model: 'fast',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
}

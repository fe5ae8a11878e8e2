import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'

const base = '/observability/destinations'

describeOnEachDatabase('Observability destinations', (server) => {
  const call = (method: string, path = '', body?: unknown) =>
    server().call(method, `${base}${path}`, body === undefined ? {} : { body })

  /** Each test has its own workspace, because a workspace has a limit per type. */
  const workspace = async () => {
    const slug = `w-${crypto.randomUUID().slice(0, 8)}`
    return (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id as string
  }
  const webhook = (more: Record<string, unknown> = {}) => ({
    type: 'webhook',
    name: 'Events',
    config: { url: 'https://hooks.example.com/in' },
    ...more,
  })
  const create = async (more: Record<string, unknown> = {}) => {
    const body = webhook({ workspace_id: await workspace(), ...more })
    const response = await call('POST', '', body)
    expect(response.status).toBe(201)
    return response.body.data
  }
  const patch = (id: string, body: unknown) => call('PATCH', `/${id}`, body)
  const key = async (workspace_id?: string) =>
    (await server().call('POST', '/keys', { body: { name: 'k', workspace_id } })).body.data.hash as string

  describe('POST', () => {
    test('a deleted key leaves the list, which does not become one of all keys', async () => {
      const workspace_id = await workspace()
      const [first, second] = [await key(workspace_id), await key(workspace_id)]
      const made = await create({ workspace_id, api_key_hashes: [first, second] })
      const listed = async () => (await call('GET', `/${made.id}`)).body.data.api_key_hashes
      await server().call('DELETE', `/keys/${first}`)
      expect(await listed()).toEqual([second])
      await server().call('DELETE', `/keys/${second}`)
      expect(await listed()).toEqual([])
    })

    test('a key of another workspace, and a management key, is 400', async () => {
      const workspace_id = await workspace()
      const hash = await key(workspace_id)
      const management = (await server().call('POST', '/management-keys', { body: { name: 'm' } })).body.data
        .hash
      const made = await create({ workspace_id, api_key_hashes: [hash] })
      for (const foreign of [await key(), management]) {
        const changed = await patch(made.id, { api_key_hashes: [hash, foreign] })
        expect([changed.status, changed.body.error.message]).toEqual([
          400,
          `api_key_hashes.1: ${foreign} is not an API key of this workspace`,
        ])
      }
      const { status } = await call('POST', '', webhook({ workspace_id, api_key_hashes: [await key()] }))
      expect(status).toBe(400)
    })

    test('absent fields have defaults', async () => {
      const workspace_id = await workspace()
      expect(await create({ workspace_id })).toEqual({
        id: expect.any(String),
        workspace_id,
        type: 'webhook',
        name: 'Events',
        enabled: true,
        privacy_mode: false,
        broadcast_generation_cost: false,
        broadcast_generation_identity: false,
        broadcast_generation_request_context: false,
        regions: ['global'],
        sampling_rate: 1,
        api_key_hashes: null,
        filter_rules: null,
        config: { url: 'https://hooks.example.com/in', method: 'POST' },
        secrets_held_back: false,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      })
    })

    test('every field is stored', async () => {
      const workspace_id = await workspace()
      const settings = {
        workspace_id,
        enabled: false,
        privacy_mode: true,
        broadcast_generation_cost: true,
        broadcast_generation_identity: true,
        broadcast_generation_request_context: true,
        sampling_rate: 0.25,
        api_key_hashes: [await key(workspace_id)],
        filter_rules: {
          enabled: false,
          groups: [{ logic: 'or', rules: [{ field: 'total_cost', operator: 'gt', value: 0.5 }] }],
        },
      }
      const made = await create({ ...settings, regions: ['us', 'eu'] })
      expect(made).toMatchObject({ ...settings, regions: ['us', 'europe'] })
      expect((await call('GET', `/${made.id}`)).body.data).toEqual(made)
    })

    test.each([
      ['type missing', { type: undefined }, 'type'],
      ['type unknown', { type: 'carrier-pigeon' }, 'type'],
      ['name missing', { name: undefined }, 'name'],
      ['name null', { name: null }, 'name'],
      ['config missing', { config: undefined }, 'config'],
      ['a required field missing', { config: {} }, 'config.url'],
      ['R12 a field of another type', { config: { url: 'https://a.example', apiKey: 'x' } }, 'config.apiKey'],
      ['R12 an unknown field', { color: 'red' }, 'color'],
      ['method unknown', { config: { url: 'https://a.example', method: 'GET' } }, 'config.method'],
      ['url not a URL', { config: { url: 'a.example' } }, 'config.url'],
      ['url http', { config: { url: 'http://a.example/' } }, 'config.url'],
      ['url with a password', { config: { url: 'https://u:p@a.example/' } }, 'config.url'],
      [
        'a masked header',
        { config: { url: 'https://a.example', headers: { a: '********' } } },
        'config.headers.a',
      ],
      ['a masked secret', { type: 'posthog', config: { apiKey: 'abc********xyz' } }, 'config.apiKey'],
      ['sampling_rate too small', { sampling_rate: 0.00001 }, 'sampling_rate'],
      ['sampling_rate too large', { sampling_rate: 1.1 }, 'sampling_rate'],
      ['regions empty', { regions: [] }, 'regions'],
      ['regions unknown', { regions: ['mars'] }, 'regions.0'],
      ['api_key_hashes empty', { api_key_hashes: [] }, 'api_key_hashes'],
      ['api_key_hashes unknown', { api_key_hashes: ['0'.repeat(64)] }, 'api_key_hashes.0'],
      ['workspace_id not a UUID', { workspace_id: 'default' }, 'workspace_id'],
    ])('400 naming the field: %s', async (_, more, field) => {
      const response = await call('POST', '', webhook(more))
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(field)
    })

    test('403 for a workspace of another organization', async () => {
      const workspace_id = server().foreign.workspace.id
      expect((await call('POST', '', webhook({ workspace_id }))).status).toBe(403)
    })

    test('409 beyond five of a type in a workspace, deleted ones not counted', async () => {
      const body = webhook({ workspace_id: await workspace() })
      const made = []
      for (let i = 0; i < 5; i++) made.push((await call('POST', '', body)).body.data.id)
      expect((await call('POST', '', body)).status).toBe(409)
      const other = { ...body, type: 'otel-collector', config: { endpoint: 'https://o.example/v1/traces' } }
      expect((await call('POST', '', other)).status).toBe(201)
      await call('DELETE', `/${made[0]}`)
      expect((await call('POST', '', body)).status).toBe(201)
    })

    test('concurrent creates do not exceed the limit', async () => {
      const body = webhook({ workspace_id: await workspace() })
      const responses = await Promise.all(Array.from({ length: 30 }, () => call('POST', '', body)))
      const made = responses.filter(({ status }) => status === 201)
      const rejected = responses.filter(({ status }) => status === 409)
      expect([made.length, rejected.length]).toEqual([5, 25])
    })
  })

  describe('GET', () => {
    test('lists one workspace, oldest first, page by page', async () => {
      const workspace_id = await workspace()
      for (const name of ['a', 'b', 'c']) await create({ workspace_id, name })
      const { body } = await call('GET', `?workspace_id=${workspace_id}&offset=1&limit=1`)
      expect(body.total_count).toBe(3)
      expect(body.data.map((one: { name: string }) => one.name)).toEqual(['b'])
      const everyone = await call('GET')
      expect(everyone.body.total_count).toBe(0)
    })

    test('R37 404 for an unknown id, and for another organization', async () => {
      const { body } = await server().call('POST', base, {
        body: webhook(),
        key: server().foreign.managementKey,
      })
      for (const id of [body.data.id, crypto.randomUUID()]) {
        expect((await call('GET', `/${id}`)).status).toBe(404)
        expect((await patch(id, { name: 'mine' })).status).toBe(404)
        expect((await call('POST', `/${id}/test`)).status).toBe(404)
        expect((await call('DELETE', `/${id}`)).status).toBe(404)
      }
      expect((await call('GET', '/not-a-uuid')).status).toBe(400)
    })
  })

  describe('E17 PATCH', () => {
    test('E17 only the fields sent change', async () => {
      const workspace_id = await workspace()
      const api_key_hashes = [await key(workspace_id)]
      const made = await create({ workspace_id, sampling_rate: 0.5, regions: ['us'], api_key_hashes })
      const { body } = await patch(made.id, { name: 'Renamed', privacy_mode: true })
      expect({ ...body.data, updated_at: '' }).toEqual({
        ...made,
        name: 'Renamed',
        privacy_mode: true,
        updated_at: '',
      })
      const nothing = await patch(made.id, {})
      expect(nothing.body.data).toEqual(body.data)
    })

    test('E17 every switch can be changed', async () => {
      const made = await create()
      const changes = {
        enabled: false,
        privacy_mode: true,
        broadcast_generation_cost: true,
        broadcast_generation_identity: true,
        broadcast_generation_request_context: true,
        sampling_rate: 0.0001,
      }
      expect((await patch(made.id, changes)).body.data).toMatchObject(changes)
    })

    test('E17 eu is an alias of europe, and duplicates are removed', async () => {
      const made = await create()
      const { body } = await patch(made.id, { regions: ['eu', 'europe', 'us', 'eu'] })
      expect(body.data.regions).toEqual(['europe', 'us'])
    })

    test('E17 null clears api_key_hashes and filter_rules', async () => {
      const rules = { groups: [{ rules: [{ field: 'model', operator: 'exists' }] }] }
      const workspace_id = await workspace()
      const api_key_hashes = [await key(workspace_id)]
      const made = await create({ workspace_id, api_key_hashes, filter_rules: rules })
      expect(made.filter_rules).toEqual({
        enabled: true,
        groups: [{ logic: 'and', rules: [{ field: 'model', operator: 'exists' }] }],
      })
      const { body } = await patch(made.id, { api_key_hashes: null, filter_rules: null })
      expect(body.data).toMatchObject({ api_key_hashes: null, filter_rules: null })
    })

    test('E17 a key hash must belong to the organization, and the error names it', async () => {
      const made = await create()
      const foreign = sha256(server().foreign.inferenceKey)
      const { status, body } = await patch(made.id, {
        api_key_hashes: [await key(made.workspace_id), foreign],
      })
      expect(status).toBe(400)
      expect(body.error.message).toStartWith(`api_key_hashes.1: ${foreign}`)
    })

    test.each([
      ['regions cannot be cleared', { regions: null }, 'regions'],
      ['regions cannot be emptied', { regions: [] }, 'regions'],
      ['api_key_hashes cannot be emptied', { api_key_hashes: [] }, 'api_key_hashes'],
      ['name cannot be cleared', { name: null }, 'name'],
      ['sampling_rate has a range', { sampling_rate: 0 }, 'sampling_rate'],
      ['enabled is a boolean', { enabled: 'yes' }, 'enabled'],
      ['R12 the type stays', { type: 'webhook' }, 'type'],
      ['R12 the workspace stays', { workspace_id: crypto.randomUUID() }, 'workspace_id'],
      ['config is an object', { config: 'x' }, 'config'],
      ['config has known fields', { config: { color: 'red' } }, 'config.color'],
      ['S14 what every object has is no field', { config: { constructor: null } }, 'config.constructor'],
      ['an unknown field cannot be cleared', { config: { color: null } }, 'config.color'],
      ['a required field cannot be cleared', { config: { url: null } }, 'config.url'],
      ['a field keeps its type', { config: { url: 5 } }, 'config.url'],
      ['http needs the operator', { config: { url: 'http://hooks.example.com/' } }, 'config.url'],
      ['headers are a map', { config: { headers: ['a'] } }, 'config.headers'],
      ['a header is a text', { config: { headers: { a: 1 } } }, 'config.headers.a'],
    ])('E17 400 naming the field: %s', async (_, body, field) => {
      const made = await create()
      const response = await patch(made.id, body)
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(field)
      expect((await call('GET', `/${made.id}`)).body.data).toEqual(made)
    })

    test('E17 concurrent changes are all stored', async () => {
      const { id } = await create({ type: 'langsmith', config: { apiKey: 'k', workspaceId: 'w' } })
      await Promise.all([
        patch(id, { config: { project: 'p' } }),
        patch(id, { config: { workspaceId: 'x' } }),
        patch(id, { config: { headers: { 'x-a': 'b' } } }),
        patch(id, { sampling_rate: 0.5 }),
        patch(id, { name: 'n' }),
      ])
      expect((await call('GET', `/${id}`)).body.data).toMatchObject({
        name: 'n',
        sampling_rate: 0.5,
        config: { apiKey: '********', project: 'p', workspaceId: 'x', headers: { 'x-a': '********' } },
      })
    })
  })

  describe('DELETE', () => {
    test('a deleted destination is 404 and its secrets are wiped; the row stays', async () => {
      const { id } = await create({ type: 'posthog', config: { apiKey: 'phc_0123456789abcdefghij' } })
      expect((await call('DELETE', `/${id}`)).body).toEqual({ deleted: true })
      expect((await call('GET', `/${id}`)).status).toBe(404)
      expect((await call('DELETE', `/${id}`)).status).toBe(404)
      const row = await server()
        .gateway.db.selectFrom('destinations')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      expect(row).toMatchObject({ sealed_secrets: '', enabled: 0, secrets_origin: null })
      expect(row.deleted_at).not.toBeNull()
    })

    test('deleting a workspace deletes its destinations, with their secrets', async () => {
      const made = await create({
        config: { url: 'https://hooks.example.com', headers: { 'x-token': 'secret' } },
      })
      expect((await server().call('DELETE', `/workspaces/${made.workspace_id}`)).status).toBe(200)
      expect((await call('GET', `/${made.id}`)).status).toBe(404)
      expect((await patch(made.id, { enabled: true })).status).toBe(404)
      const row = await server()
        .gateway.db.selectFrom('destinations')
        .selectAll()
        .where('id', '=', made.id)
        .executeTakeFirstOrThrow()
      expect(row).toMatchObject({ enabled: 0, sealed_secrets: '' })
    })

    test('R22 deleting a workspace and enabling its destination leaves none in either order', async () => {
      const made = await create({ enabled: false })
      const [gone] = await Promise.all([
        server().call('DELETE', `/workspaces/${made.workspace_id}`),
        patch(made.id, { enabled: true }),
      ])
      expect(gone.status).toBe(200)
      expect((await call('GET', `/${made.id}`)).status).toBe(404)
    })
  })
})

import { beforeAll, describe, expect, test } from 'bun:test'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type TestServer,
} from '../../../../test/support/harness.ts'
import { recordSpend } from '../../../../test/support/spend.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'

describeOnEachDatabase('API keys', (server) => {
  const create = async (body: Record<string, unknown> = {}) => {
    const { body: response } = await server().call('POST', '/keys', { body: { name: 'test', ...body } })
    return response as { data: Record<string, unknown> & { hash: string }; key: string }
  }

  describe('POST /keys', () => {
    test('shows the secret once; the hash is its SHA-256 and the label hides it', async () => {
      const { data, key } = await create({ name: 'mobile app' })
      expect(key).toMatch(/^sk-hg-v1-[0-9a-f]{64}$/)
      expect(data.hash).toBe(sha256(key))
      expect(data.label).toBe(`${key.slice(0, 12)}...${key.slice(-3)}`)
      expect(data).toMatchObject({ name: 'mobile app', disabled: false, limit: null, limit_remaining: null })
      const again = await server().call('GET', `/keys/${data.hash}`)
      expect(JSON.stringify(again.body)).not.toContain(key)
    })

    test.each([
      ['name missing', {}, 'name'],
      ['name empty', { name: '' }, 'name'],
      ['name of spaces', { name: '   ' }, 'name'],
      ['limit negative', { name: 'x', limit: -1 }, 'limit'],
      ['limit beyond all money', { name: 'x', limit: 1e15 }, 'limit'],
      ['limit_reset unknown', { name: 'x', limit_reset: 'yearly' }, 'limit_reset'],
      ['expires_at with minutes only', { name: 'x', expires_at: '2099-01-01T00:00Z' }, 'expires_at'],
      [
        'expires_at with an endless fraction',
        { name: 'x', expires_at: `2099-01-01T00:00:00.${'0'.repeat(99)}Z` },
        'expires_at',
      ],
      ['expires_at in another zone', { name: 'x', expires_at: '2099-01-01T00:00:00+02:00' }, 'expires_at'],
      ['expires_at on 30 February', { name: 'x', expires_at: '2099-02-30T00:00:00Z' }, 'expires_at'],
      ['expires_at in the past', { name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
      ['workspace_id not a UUID', { name: 'x', workspace_id: 'default' }, 'workspace_id'],
      ['creator unknown', { name: 'x', creator_user_id: 'user_nobody' }, 'creator_user_id'],
      [
        'partner secret too short',
        { name: 'x', external: { user: 'u', api_key: 'short' } },
        'external.api_key',
      ],
      [
        'partner secret repetitive',
        { name: 'x', external: { user: 'u', api_key: 'ab'.repeat(20) } },
        'external.api_key',
      ],
      ['R12 unknown field', { name: 'x', limits: 5 }, 'limits'],
    ])('400 naming the field: %s', async (_, body, field) => {
      const response = await server().call('POST', '/keys', { body })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(field)
    })

    test('403 for a workspace of another organization', async () => {
      const workspace_id = server().foreign.workspace.id
      const response = await server().call('POST', '/keys', { body: { name: 'x', workspace_id } })
      expect(response.status).toBe(403)
    })

    test('a partner authenticates with the secret it chose, which is never returned', async () => {
      const api_key = 'partner-secret-0123456789-abcdefghijklmnop'
      const { data } = await create({ external: { user: 'customer-7', api_key } })
      expect(data.external_user).toBe('customer-7')
      expect(JSON.stringify(data)).not.toContain(api_key)
      const response = await server().call('GET', '/key', { key: api_key })
      expect(response.status).toBe(200)
      const stolen = await server().call('POST', '/keys', {
        body: { name: 'x', external: { user: 'u', api_key: server().foreign.inferenceKey } },
      })
      expect(stolen.status).toBe(409)
      const attempt = await server().call('POST', '/keys', {
        body: { name: 'x', external: { user: 'u', api_key } },
      })
      expect(attempt.status).toBe(409)
    })
  })

  describe('E1 GET /key', () => {
    test('is served at /auth/key too', async () => {
      const { key } = await create()
      const [here, there] = await Promise.all(
        ['/key', '/auth/key'].map((path) => server().call('GET', path, { key })),
      )
      expect(there?.status).toBe(200)
      expect(there?.body).toEqual(here?.body)
    })

    test('E1 reads limits and usage of the calling key, whatever its kind', async () => {
      const { key } = await create({ limit: 12.5, limit_reset: 'monthly', include_byok_in_limit: true })
      const { body } = await server().call('GET', '/key', { key })
      expect(body.data).toMatchObject({
        limit: 12.5,
        limit_remaining: 12.5,
        limit_reset: 'monthly',
        include_byok_in_limit: true,
        usage: 0,
        is_free_tier: true,
        is_management_key: false,
      })
      const management = await server().call('GET', '/key')
      expect(management.body.data.is_management_key).toBe(true)
    })

    test('E1 null limit and null reset mean unlimited and never', async () => {
      const { key } = await create()
      const { body } = await server().call('GET', '/key', { key })
      expect(body.data).toMatchObject({ limit: null, limit_remaining: null, limit_reset: null })
    })
  })

  describe('E2 GET /keys/{hash}', () => {
    test('E2 returns every field of the record', async () => {
      const { data } = await create({ limit: 3, expires_at: '2099-12-31T23:59:59Z' })
      const { body } = await server().call('GET', `/keys/${data.hash}`)
      expect(body.data).toEqual(data)
      expect(body.data.expires_at).toBe('2099-12-31T23:59:59Z')
      expect(body.data.workspace_id).toBe(server().own.workspace.id)
      expect(body.data.creator_user_id).toBe(server().own.owner.id)
    })

    test('E2 404 for an unknown hash and for a key of another organization', async () => {
      const foreign = sha256(server().foreign.inferenceKey)
      expect((await server().call('GET', `/keys/${'0'.repeat(64)}`)).status).toBe(404)
      expect((await server().call('GET', `/keys/${foreign}`)).status).toBe(404)
      expect((await server().call('DELETE', `/keys/${foreign}`)).status).toBe(404)
    })
  })

  describe('R13 usage windows', () => {
    let key: { data: { hash: string } }
    beforeAll(async () => {
      key = await create({ limit: 10, limit_reset: 'weekly' })
      const row = await keyRow(server(), key.data.hash)
      // 2028-03-01 is a Wednesday after a leap day: Monday was 28 February.
      for (const [day, usd] of [
        ['2028-02-27', 1],
        ['2028-02-28', 2],
        ['2028-02-29', 4],
        ['2028-03-01', 8],
      ] as const) {
        await recordSpend(server().gateway, row, day, { credits: usd })
      }
    })

    const at = async (time: string) => {
      server().clock.freeze(time)
      const { body } = await server().call('GET', `/keys/${key.data.hash}`)
      server().clock.release()
      return body.data
    }

    test('R13 day, Monday week and month come from the clock', async () => {
      expect(await at('2028-03-01T00:00:00.000Z')).toMatchObject({
        usage: 15,
        usage_daily: 8,
        usage_weekly: 14,
        usage_monthly: 8,
        limit_remaining: 0,
      })
    })

    test('R13 one millisecond before and after the week begins', async () => {
      expect(await at('2028-03-05T23:59:59.999Z')).toMatchObject({ usage_weekly: 14, limit_remaining: 0 })
      expect(await at('2028-03-06T00:00:00.000Z')).toMatchObject({ usage_weekly: 0, limit_remaining: 10 })
    })

    test('R13 one millisecond before and after the month begins', async () => {
      expect(await at('2028-03-31T23:59:59.999Z')).toMatchObject({ usage_monthly: 8 })
      expect(await at('2028-04-01T00:00:00.000Z')).toMatchObject({ usage_monthly: 0, usage: 15 })
    })

    test('last_used_at is the time of the last request, and null before the first', async () => {
      const { data, key: secret } = await create()
      const read = async () => (await server().call('GET', `/keys/${data.hash}`)).body.data.last_used_at
      expect([data.last_used_at, await read()]).toEqual([null, null])
      const chat = () =>
        server().call('POST', '/chat/completions', {
          key: secret,
          body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] },
        })
      for (const time of ['2028-05-01T10:00:00.000Z', '2028-05-02T10:00:00.000Z']) {
        server().clock.freeze(time)
        expect((await chat()).status).toBe(200)
        expect(await read()).toBe(time)
      }
      server().clock.release()
      const listed = (await server().call('GET', '/keys')).body.data
      expect(listed.find(({ hash }: { hash: string }) => hash === data.hash).last_used_at).toBe(
        '2028-05-02T10:00:00.000Z',
      )
    })

    test('BYOK usage counts against the limit only when the key says so', async () => {
      const { data } = await create({ limit: 10 })
      const row = await keyRow(server(), data.hash)
      await recordSpend(server().gateway, row, '2028-03-01', { credits: 1, byok: 4 })
      const before = await server().call('GET', `/keys/${data.hash}`)
      expect(before.body.data).toMatchObject({ limit_remaining: 9, byok_usage: 4 })
      const after = await server().call('PATCH', `/keys/${data.hash}`, {
        body: { include_byok_in_limit: true },
      })
      expect(after.body.data.limit_remaining).toBe(5)
    })
  })

  describe('GET /keys', () => {
    test('newest first, one workspace, disabled ones only on request', async () => {
      const workspace = await server().call('POST', '/workspaces', {
        body: { name: 'Listing', slug: 'listing' },
      })
      const workspace_id = workspace.body.data.id
      const first = await create({ workspace_id, name: 'first' })
      const second = await create({ workspace_id, name: 'second' })
      await server().call('PATCH', `/keys/${first.data.hash}`, { body: { disabled: true } })
      const names = async (query: string) => {
        const { body } = await server().call('GET', `/keys?workspace_id=${workspace_id}${query}`)
        return body.data.map((key: { name: string }) => key.name)
      }
      expect(await names('')).toEqual(['second'])
      expect(await names('&include_disabled=true')).toEqual(['second', 'first'])
      expect(await names('&include_disabled=true&offset=1')).toEqual(['first'])
      expect(second.data.workspace_id).toBe(workspace_id)
    })

    test('those that a member created, with a text and without', async () => {
      const member = await createSessionCaller(server())
      const own = { creator_user_id: member.member.id }
      for (const name of ['Sparrow', 'Finch'])
        await server().call('POST', '/keys', { body: { name, ...own } })
      await server().call('POST', '/keys', { body: { name: 'Sparrow of nobody' } })
      const names = async (query: string) =>
        (await server().call('GET', `/keys?${query}`)).body.data.map(({ name }: { name: string }) => name)
      expect(await names(`creator_user_id=${member.member.id}`)).toEqual(['Finch', 'Sparrow'])
      expect(await names(`creator_user_id=${member.member.id}&q=sparrow`)).toEqual(['Sparrow'])
      expect(await names('creator_user_id=user_nobody')).toEqual([])
    })

    test('management keys are not in the list', async () => {
      const { body } = await server().call('GET', '/keys?include_disabled=true')
      const hashes = body.data.map((key: { hash: string }) => key.hash)
      expect(hashes).not.toContain(sha256(server().own.managementKey))
    })

    test.each(['include_disabled=yes', 'offset=-1', 'offset=1.5', 'workspace_id=default'])(
      '400 for %s',
      async (query) => {
        expect((await server().call('GET', `/keys?${query}`)).status).toBe(400)
      },
    )
  })

  describe('PATCH and DELETE /keys/{hash}', () => {
    test('a disabled key is 401 at once, and works again when enabled', async () => {
      const { data, key } = await create()
      await server().call('PATCH', `/keys/${data.hash}`, { body: { disabled: true } })
      const rejected = await server().call('GET', '/key', { key })
      expect(rejected.status).toBe(401)
      expect(rejected.body.error.metadata).toMatchObject({
        error_type: 'authentication',
        reason: 'key_disabled',
      })
      await server().call('PATCH', `/keys/${data.hash}`, { body: { disabled: false } })
      expect((await server().call('GET', '/key', { key })).status).toBe(200)
    })

    test('only the fields sent change, and null removes a limit', async () => {
      const { data } = await create({ name: 'before', limit: 5, limit_reset: 'daily' })
      const renamed = await server().call('PATCH', `/keys/${data.hash}`, { body: { name: 'after' } })
      expect(renamed.body.data).toMatchObject({ name: 'after', limit: 5, limit_reset: 'daily' })
      expect(renamed.body.data.updated_at).not.toBeNull()
      const unlimited = await server().call('PATCH', `/keys/${data.hash}`, {
        body: { limit: null, limit_reset: null },
      })
      expect(unlimited.body.data).toMatchObject({ limit: null, limit_reset: null, limit_remaining: null })
    })

    test('R12 workspace and expiry cannot be changed', async () => {
      const { data } = await create()
      const response = await server().call('PATCH', `/keys/${data.hash}`, { body: { expires_at: null } })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith('expires_at')
    })

    test('an expired key is 401 from its very millisecond', async () => {
      const { key } = await create({ expires_at: '2099-01-01T00:00:00.500Z' })
      server().clock.freeze('2099-01-01T00:00:00.499Z')
      expect((await server().call('GET', '/key', { key })).status).toBe(200)
      server().clock.advance(1)
      const rejected = await server().call('GET', '/key', { key })
      server().clock.release()
      expect(rejected.body.error.metadata.reason).toBe('key_expired')
    })

    test('a deleted key is 404, its usage stays', async () => {
      const { data, key } = await create()
      const row = await keyRow(server(), data.hash)
      const before = await server().call('GET', '/credits')
      await recordSpend(server().gateway, row, '2028-03-01', { credits: 0.25 })
      expect((await server().call('DELETE', `/keys/${data.hash}`)).body).toEqual({ deleted: true })
      expect((await server().call('GET', '/key', { key })).status).toBe(401)
      expect((await server().call('DELETE', `/keys/${data.hash}`)).status).toBe(404)
      const after = await server().call('GET', '/credits')
      expect(after.body.data.total_usage).toBeCloseTo(before.body.data.total_usage + 0.25, 9)
    })

    test('management keys are not changed through the API', async () => {
      const hash = sha256(server().own.managementKey)
      expect((await server().call('GET', `/keys/${hash}`)).status).toBe(200)
      expect((await server().call('DELETE', `/keys/${hash}`)).status).toBe(403)
    })
  })
})

async function keyRow(server: TestServer, hash: string) {
  const row = await server.gateway.db
    .selectFrom('api_keys')
    .selectAll()
    .where('hash', '=', hash)
    .executeTakeFirstOrThrow()
  return row
}

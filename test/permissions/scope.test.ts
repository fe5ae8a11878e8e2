import { beforeAll, describe, expect, test } from 'bun:test'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import { newId } from '../../src/platform/crypto/ids.ts'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type SessionCaller,
  type TestServer,
} from '../support/harness.ts'
import { expectRefused } from '../support/refusals.ts'

describeOnEachDatabase('members with permissions in a workspace', (server) => {
  let home: string
  let other: string
  let member: SessionCaller
  let colleague: SessionCaller
  let admin: SessionCaller
  beforeAll(async () => {
    ;[home, other] = [await createWorkspace(server()), await createWorkspace(server())]
    member = await createSessionCaller(server(), { workspaces: { [home]: 'member' } })
    colleague = await createSessionCaller(server(), { workspaces: { [home]: 'member' } })
    admin = await createSessionCaller(server(), { workspaces: { [home]: 'admin', [other]: 'member' } })
  })
  const createKey = async (caller: Pick<SessionCaller, 'call'>, body: Record<string, unknown> = {}) =>
    caller.call('POST', '/keys', { body: { name: 'key', workspace_id: home, ...body } })
  const listHashes = async (caller: Pick<SessionCaller, 'call'>, workspace = home) => {
    const { body } = await caller.call('GET', `/keys?workspace_id=${workspace}`)
    return body.data.map(({ hash }: { hash: string }) => hash)
  }

  describe('keys', () => {
    test('S3 a member lists, reads, changes and deletes the keys they created, and no others', async () => {
      const own = (await createKey(member)).body.data
      expect(own.creator_user_id).toBe(member.member.id)
      const foreign = (await createKey(colleague)).body.data
      expect(await listHashes(member)).toEqual([own.hash])
      expect((await member.call('GET', `/keys/${own.hash}`)).status).toBe(200)
      const renamed = await member.call('PATCH', `/keys/${own.hash}`, { body: { name: 'renamed' } })
      expect(renamed.body.data.name).toBe('renamed')
      for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const)
        expectRefused(await member.call(method, `/keys/${foreign.hash}`, { body }), /^keys:(read|write)$/)
      expect((await member.call('DELETE', `/keys/${own.hash}`)).status).toBe(200)
      expect(await listHashes(member)).toEqual([])
    })

    test('a workspace admin manages all keys of the workspace, and own keys elsewhere', async () => {
      const { hash } = (await createKey(member)).body.data
      expect(await listHashes(admin)).toContain(hash)
      expect((await admin.call('PATCH', `/keys/${hash}`, { body: { disabled: true } })).status).toBe(200)
      expect((await createKey(admin, { creator_user_id: member.member.id, limit: 500 })).status).toBe(201)
      const elsewhere = (await createKey(server(), { workspace_id: other })).body.data
      expectRefused(await admin.call('DELETE', `/keys/${elsewhere.hash}`), 'keys:write')
      const mine = (await createKey(admin, { workspace_id: other })).body.data
      expect(await listHashes(admin, other)).toEqual([mine.hash])
    })

    test('S3 a session that covers all workspaces lists what its member may see in each, and no more', async () => {
      const headers = { 'x-headgate-workspace': 'all' }
      const made = (await createKey(server(), { workspace_id: other })).body.data
      const mine = (await createKey(admin, { workspace_id: other })).body.data
      const shared = (await createKey(member)).body.data
      const list = async (caller: SessionCaller, path: string) => {
        const { body } = await caller.call('GET', path, { headers })
        return body.data.map(({ hash, id }: { hash?: string; id?: string }) => hash ?? id)
      }
      const owner = await createSessionCaller(server(), { role: 'org:admin' })
      for (const path of ['/keys', '/keys?q=key'])
        expect(await list(owner, path)).toEqual(expect.arrayContaining([made.hash, mine.hash, shared.hash]))
      const seen = await list(admin, '/keys')
      expect(seen).toEqual(expect.arrayContaining([mine.hash, shared.hash]))
      expect(seen).not.toContain(made.hash)
      expect(await list(member, '/keys')).not.toContain(mine.hash)
      const guardrail = await server().call('POST', '/guardrails', {
        body: { name: 'there', workspace_id: other },
      })
      expect(await list(owner, '/guardrails')).toContain(guardrail.body.data.id)
    })

    test('a member creates keys neither for others nor in other workspaces', async () => {
      expectRefused(await createKey(member, { creator_user_id: colleague.member.id }), 'keys:write')
      expectRefused(await createKey(member, { workspace_id: other }), 'keys:write')
      expectRefused(await member.call('GET', `/keys?workspace_id=${other}`), 'keys:read')
    })

    test('S3 R37 a key of another organization does not exist for a member', async () => {
      const hash = sha256(server().foreign.inferenceKey)
      for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const)
        expect((await member.call(method, `/keys/${hash}`, { body })).status).toBe(404)
      const foreign = await createSessionCaller(server(), { tenant: server().foreign, role: 'org:admin' })
      const { hash: own } = (await createKey(member)).body.data
      expect((await foreign.call('GET', `/keys/${own}`)).status).toBe(404)
      expect((await createKey(foreign)).status).toBe(403)
    })

    test('management keys and the keys of sessions are not shown', async () => {
      expectRefused(await admin.call('GET', `/keys/${sha256(server().own.managementKey)}`), 'keys:read')
      await member.call('GET', '/key')
      const session = await server()
        .gateway.db.selectFrom('api_keys')
        .select('hash')
        .where('creator_user_id', '=', member.member.id)
        .where('source', '=', 'session')
        .executeTakeFirstOrThrow()
      expect((await server().call('GET', `/keys/${session.hash}`)).status).toBe(404)
      expect(await listHashes(server(), server().own.workspace.id)).not.toContain(session.hash)
    })

    test('the limit of a member applies to new keys and to changed ones', async () => {
      const created = await createKey(member)
      expect(created.body.data).toMatchObject({ limit: 10, limit_reset: null })
      expect((await createKey(member, { limit: 2.5 })).body.data.limit).toBe(2.5)
      const hash = created.body.data.hash
      const refusals: [Record<string, unknown>, string][] = [
        [{ limit: 10.01 }, 'limit'],
        [{ limit: null }, 'limit'],
        [{ limit_reset: 'daily' }, 'limit_reset'],
        [{ limit: 1, limit_reset: 'monthly' }, 'limit_reset'],
      ]
      for (const [body, field] of refusals) {
        for (const response of [
          await createKey(member, body),
          await member.call('PATCH', `/keys/${hash}`, { body }),
        ]) {
          expect(response.status).toBe(400)
          expect(response.body.error.message).toStartWith(`${field}:`)
        }
      }
      expect((await member.call('PATCH', `/keys/${hash}`, { body: { limit: 3 } })).body.data.limit).toBe(3)
    })

    test('the priority of a key that a member creates or changes is not high', async () => {
      const { hash } = (await createKey(member, { priority: 'low' })).body.data
      for (const field of ['priority', 'max_priority']) {
        const body = { [field]: 'high' }
        for (const response of [
          await createKey(member, body),
          await member.call('PATCH', `/keys/${hash}`, { body }),
        ]) {
          expect(response.status).toBe(400)
          expect(response.body.error.message).toStartWith(`${field}:`)
        }
      }
      const body = { max_priority: 'high' }
      expect((await admin.call('PATCH', `/keys/${hash}`, { body })).body.data).toMatchObject(body)
      const renamed = await member.call('PATCH', `/keys/${hash}`, { body: { name: 'mine', ...body } })
      expect(renamed.body.data).toMatchObject({ name: 'mine', priority: 'low', ...body })
    })

    test('a key without a limit that an admin made for a member can be renamed by the member', async () => {
      const { hash } = (await createKey(admin, { creator_user_id: member.member.id })).body.data
      const renamed = await member.call('PATCH', `/keys/${hash}`, { body: { name: 'mine' } })
      expect(renamed.body.data).toMatchObject({ name: 'mine', limit: null })
    })

    test('an authorization code of a member has the same limits', async () => {
      const callback_url = 'https://app.example.com/'
      const create = (body: Record<string, unknown>) =>
        member.call('POST', '/auth/keys/code', { body: { callback_url, workspace_id: home, ...body } })
      expect((await create({ limit: 11 })).status).toBe(400)
      expectRefused(await create({ workspace_id: other }), 'keys:write')
      const code = (await create({})).body.data.id
      const { body } = await server().call('POST', '/auth/keys', { key: null, body: { code } })
      const { data } = (await server().call('GET', `/keys/${sha256(body.key)}`)).body
      expect(data).toMatchObject({ limit: 10, creator_user_id: member.member.id, workspace_id: home })
    })
  })

  describe('workspaces, members and budgets', () => {
    test('GET /workspaces lists those that the caller may read', async () => {
      const { body } = await member.call('GET', '/workspaces')
      expect(body.data.map(({ id }: { id: string }) => id)).toEqual([home])
      expect(body.total_count).toBe(1)
      expectRefused(await member.call('GET', `/workspaces/${other}`), 'workspaces:read')
    })

    test('a workspace admin changes the workspace, and neither creates nor deletes one', async () => {
      const body = { description: 'changed' }
      expect((await admin.call('PATCH', `/workspaces/${home}`, { body })).status).toBe(200)
      expectRefused(await admin.call('PATCH', `/workspaces/${other}`, { body }), 'workspaces:write')
      expectRefused(await admin.call('DELETE', `/workspaces/${home}`), 'workspaces:write')
      const created = await admin.call('POST', '/workspaces', { body: { name: 'x', slug: 'x' } })
      expectRefused(created, 'workspaces:write')
    })

    test('a workspace admin adds and removes members of the workspace only', async () => {
      const { id } = (await createSessionCaller(server(), { workspaces: {} })).member
      const body = { user_ids: [id] }
      expect((await admin.call('POST', `/workspaces/${home}/members/add`, { body })).status).toBe(200)
      expect((await admin.call('POST', `/workspaces/${home}/members/remove`, { body })).status).toBe(200)
      for (const verb of ['add', 'remove'])
        expectRefused(
          await admin.call('POST', `/workspaces/${other}/members/${verb}`, { body }),
          'members:write',
        )
      expectRefused(await admin.call('GET', `/workspaces/${other}/members`), 'members:read')
      expectRefused(
        await admin.call('POST', '/organization/members', { body: { email: 'x@example.com' } }),
        'members:write',
      )
      expectRefused(await admin.call('DELETE', `/organization/members/${id}`), 'members:write')
    })

    test('a workspace admin sees the members of the workspace, not the others of the organization', async () => {
      const { body } = await admin.call('GET', '/organization/members?limit=100')
      const ids = body.data.map(({ id }: { id: string }) => id)
      expect(ids.sort()).toEqual([member, colleague, admin].map((caller) => caller.member.id).sort())
    })

    test('a workspace admin changes the budgets of the workspace only', async () => {
      const put = (id: string) =>
        admin.call('PUT', `/workspaces/${id}/budgets/monthly`, { body: { limit_usd: 100 } })
      expect((await put(home)).status).toBe(200)
      expectRefused(await put(other), 'budgets:write')
      expectRefused(await admin.call('DELETE', `/workspaces/${other}/budgets/monthly`), 'budgets:write')
      expectRefused(await admin.call('GET', `/workspaces/${other}/budgets`), 'budgets:read')
      expectRefused(await admin.call('GET', `/workspaces/${other}/budgets/monthly`), 'budgets:read')
      expectRefused(await member.call('GET', `/workspaces/${home}/budgets`), 'budgets:read')
    })

    test('a member who was removed from a workspace loses what they could do there, at once', async () => {
      const leaving = await createSessionCaller(server(), {
        workspaces: { [home]: 'member' },
        roles: [{ roleId: 'viewer', workspaceId: home }],
      })
      expect((await leaving.call('GET', `/workspaces/${home}/budgets`)).status).toBe(200)
      const body = { user_ids: [leaving.member.id] }
      expect((await server().call('POST', `/workspaces/${home}/members/remove`, { body })).status).toBe(200)
      expectRefused(await leaving.call('GET', `/workspaces/${home}/budgets`), 'budgets:read')
    })

    test('sessions do not prevent the deletion of a workspace', async () => {
      const id = await createWorkspace(server())
      const caller = await createSessionCaller(server(), { workspaces: { [id]: 'admin' } })
      await caller.call('GET', '/key', { headers: { 'x-headgate-workspace': id } })
      expect((await server().call('DELETE', `/workspaces/${id}`)).status).toBe(200)
    })
  })

  test('every change is in the audit log, with who made it and without secrets', async () => {
    const { data, key } = (await createKey(member, { name: 'audited' })).body
    await member.call('PATCH', `/keys/${data.hash}`, { body: { name: 'renamed' } })
    await member.call('DELETE', `/keys/${data.hash}`)
    const entries = await server()
      .gateway.db.selectFrom('audit_entries')
      .selectAll()
      .where('target_id', '=', data.hash)
      .orderBy('seq')
      .execute()
    expect(entries.map(({ action }) => action)).toEqual(['key.create', 'key.update', 'key.delete'])
    for (const entry of entries) {
      expect(entry).toMatchObject({
        chain_id: server().own.organization.id,
        actor_type: 'member',
        actor_id: member.member.id,
        target_type: 'key',
        workspace_id: home,
        ip: '127.0.0.1',
      })
    }
    expect(JSON.parse(entries[1]?.changes ?? '')).toMatchObject({
      before: { name: 'audited' },
      after: { name: 'renamed' },
    })
    expect(JSON.stringify(entries)).not.toContain(key)
  })

  test.each([
    ['workspace.update', (id: string) => ['PATCH', `/workspaces/${id}`, { name: 'Renamed' }]],
    ['budget.create', (id: string) => ['PUT', `/workspaces/${id}/budgets/daily`, { limit_usd: 1 }]],
    ['budget.update', (id: string) => ['PUT', `/workspaces/${id}/budgets/daily`, { limit_usd: 2 }]],
    ['budget.delete', (id: string) => ['DELETE', `/workspaces/${id}/budgets/daily`]],
    ['workspace_member.create', (id: string) => ['POST', `/workspaces/${id}/members/add`, people()]],
    ['workspace_member.delete', (id: string) => ['POST', `/workspaces/${id}/members/remove`, people()]],
    ['member.create', () => ['POST', '/organization/members', { email: `${newId('new')}@example.com` }]],
    ['member.update', () => ['PATCH', `/organization/members/${colleague.member.id}`, { first_name: 'Ada' }]],
    ['organization.update', () => ['PUT', '/organization/plugins', { plugins: [] }]],
    ['credits.grant', () => ['POST', '/credits/grants', { amount: 1 }]],
    ['app.authorize', () => ['POST', '/auth/keys/code', { callback_url: 'https://app.example.com/' }]],
  ] as [string, (workspace: string) => [string, string, unknown?]][])(
    '%s is audited',
    async (action, make) => {
      const [method, path, body] = make(other)
      const before = await countEntries(server(), action)
      const response = await server().call(method, path, { body })
      expect(response.status).toBeLessThan(300)
      expect(await countEntries(server(), action)).toBe(before + 1)
    },
  )

  const people = () => ({ user_ids: [colleague.member.id] })
})

async function createWorkspace(server: TestServer): Promise<string> {
  const slug = newId('w').replace('_', '-')
  return (await server.call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id
}

async function countEntries({ gateway }: TestServer, action: string): Promise<number> {
  const rows = await gateway.db
    .selectFrom('audit_entries')
    .select('id')
    .where('action', '=', action)
    .execute()
  return rows.length
}

import { expect, test } from 'bun:test'
import {
  createSessionCaller,
  describeOnEachDatabase,
  type TestServer,
} from '../../../../test/support/harness.ts'
import { recordSpend } from '../../../../test/support/spend.ts'
import { findKeyBySecret } from '../../../identity/keys.ts'

/** A Wednesday noon: half of the day has passed. */
const noon = '2027-03-03T12:00:00.000Z'

describeOnEachDatabase('GET /budgets', (server) => {
  const list = (parent?: string, more = '') =>
    server().call('GET', `/budgets?${parent ? `parent=${parent}` : ''}${more}`)

  const createWorkspace = async (slug: string) =>
    (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data.id as string

  const createKey = async (body: Record<string, unknown>) => {
    const created = await server().call('POST', '/keys', { body: { name: 'key', ...body } })
    return keyRow(server(), created.body.data.hash)
  }

  test('each level has what is spent, held and left, and keys the limit that blocks first', async () => {
    const { owner, organization } = server().own
    const workspace_id = await createWorkspace('tree')
    const put = (interval: string, limit_usd: number) =>
      server().call('PUT', `/workspaces/${workspace_id}/budgets/${interval}`, { body: { limit_usd } })
    await put('daily', 8)
    await put('monthly', 100)
    const wide = await createKey({ workspace_id, creator_user_id: owner.id, limit: 50, limit_reset: 'daily' })
    const tight = await createKey({ workspace_id, creator_user_id: owner.id, limit: 4 })
    const guardrail = await server().call('POST', '/guardrails', {
      body: { name: 'member budget', workspace_id, limit_usd: 7.5, reset_interval: 'weekly' },
    })
    await server().call('POST', `/guardrails/${guardrail.body.data.id}/assignments/members`, {
      body: { member_user_ids: [owner.id] },
    })
    server().clock.freeze(noon)
    await recordSpend(server().gateway, wide, '2027-03-03', { credits: 2 })
    await recordSpend(server().gateway, tight, '2027-03-01', { credits: 1 })

    const root = (await list()).body
    expect(root.parent).toMatchObject({ id: 'organization', kind: 'organization', name: organization.name })
    expect(root.parent.limits[0]).toMatchObject({ kind: 'credits', interval: 'lifetime', forecast: null })
    const node = root.data.find((child: { workspace_id: string }) => child.workspace_id === workspace_id)
    expect(node.windows.find((window: { interval: string }) => window.interval === 'daily')).toMatchObject({
      spent: 2,
      held: 0,
      forecast: 4,
      resets_at: '2027-03-04T00:00:00.000Z',
    })
    expect(node.limits).toHaveLength(2)
    expect(node.limits).toContainEqual(
      expect.objectContaining({ kind: 'workspace', interval: 'daily', limit: 8, spent: 2, remaining: 6 }),
    )

    const members = (await list(node.id)).body
    expect(members.parent).toEqual(node)
    const member = members.data.find((child: { user_id: string }) => child.user_id === owner.id)
    expect(member.limits).toEqual([
      expect.objectContaining({
        kind: 'guardrail',
        guardrail_id: guardrail.body.data.id,
        interval: 'weekly',
        spent: 3,
        remaining: 4.5,
      }),
    ])

    const keys = (await list(member.id)).body
    expect(keys.parent).toEqual(member)
    expect(keys.data.map((child: { key_hash: string }) => child.key_hash)).toEqual([tight.hash, wide.hash])
    expect(keys.data[0]).toMatchObject({
      limits: [{ kind: 'key', interval: 'lifetime', limit: 4, spent: 1, remaining: 3 }],
      blocks_first: expect.objectContaining({ remaining: expect.any(Number) }),
    })
    const grant = { amount: 1000 }
    await server().call('POST', '/credits/grants', { body: grant })
    const funded = (await list(member.id)).body.data
    expect(funded[0].blocks_first).toMatchObject({ kind: 'key', node_id: `key:${tight.hash}`, remaining: 3 })
    expect(funded[1].blocks_first).toMatchObject({ kind: 'guardrail', node_id: member.id, remaining: 4.5 })
    const alone = (await list(funded[1].id)).body
    expect(alone).toEqual({ parent: funded[1], data: [], cursor: null })
    server().clock.release()
  })

  test('keys are listed page by page, also those without a creator', async () => {
    const workspace_id = await createWorkspace('pages')
    const hashes: string[] = []
    for (const name of ['a', 'b', 'c']) hashes.unshift((await createKey({ workspace_id, name })).hash)
    await server()
      .gateway.db.updateTable('api_keys')
      .set({ creator_user_id: null })
      .where('workspace_id', '=', workspace_id)
      .execute()
    const { data } = (await list(`workspace:${workspace_id}`)).body
    const ownerless = data.at(-1)
    expect(ownerless).toMatchObject({ id: `member:${workspace_id}:none`, name: null, user_id: null })
    const first = (await list(ownerless.id, '&limit=2')).body
    const second = (await list(ownerless.id, `&limit=2&cursor=${first.cursor}`)).body
    expect([...first.data, ...second.data].map(({ key_hash }) => key_hash)).toEqual(hashes)
    expect(second.cursor).toBeNull()
    const workspaces = (await list('organization', '&limit=1')).body
    const next = (await list('organization', `&limit=1&cursor=${encodeURIComponent(workspaces.cursor)}`)).body
    expect(next.data[0].id).not.toBe(workspaces.data[0].id)
  })

  test('R37 the workspaces of another organization are 404', async () => {
    const { workspace, owner, inferenceKey } = server().foreign
    const foreignKey = await findKeyBySecret(server().gateway.db, inferenceKey)
    expect((await list(`key:${foreignKey?.hash}`)).status).toBe(404)
    expect((await list(`workspace:${workspace.id}`)).status).toBe(404)
    expect((await list(`member:${workspace.id}:${owner.id}`)).status).toBe(404)
    expect((await list(`member:${server().own.workspace.id}:${owner.id}`)).status).toBe(404)
  })

  test('a caller of one workspace sees neither the others nor the credits', async () => {
    const workspace_id = await createWorkspace('limited')
    const row = await createKey({ workspace_id })
    const created = await server().call('POST', '/management-keys', {
      body: { name: 'limited', permissions: ['budgets:read'], workspace_ids: [workspace_id] },
    })
    const { key } = created.body
    const { body } = await server().call('GET', '/budgets', { key })
    expect(body.parent).toBeNull()
    expect(body.data.map((node: { workspace_id: string }) => node.workspace_id)).toEqual([workspace_id])
    const owner = row.creator_user_id ?? 'none'
    const keys = await server().call('GET', `/budgets?parent=member:${workspace_id}:${owner}`, { key })
    expect(keys.body.data[0].blocks_first).toMatchObject({ kind: 'credits', limit: null, spent: null })
    const other = await server().call('GET', `/budgets?parent=workspace:${server().own.workspace.id}`, {
      key,
    })
    expect(other.status).toBe(403)
    const { hash } = await createKey({})
    expect((await server().call('GET', `/budgets?parent=key:${hash}`, { key })).status).toBe(403)
  })

  test('a member who is not in the workspace and has no keys there is not named', async () => {
    const workspace_id = await createWorkspace('strangers')
    const { member } = await createSessionCaller(server(), { workspaces: {} })
    expect((await list(`member:${workspace_id}:${member.id}`)).status).toBe(404)
    await createKey({ workspace_id, creator_user_id: member.id })
    expect((await list(`member:${workspace_id}:${member.id}`)).body.parent.user_id).toBe(member.id)
  })

  test.each(['parent=key:1', 'parent=workspace:x', 'cursor=x', 'cursor=%00~x', 'limit=101'])(
    '400 for %s',
    async (query) => {
      expect((await server().call('GET', `/budgets?${query}`)).status).toBe(400)
    },
  )
})

function keyRow(server: TestServer, hash: string) {
  return server.gateway.db
    .selectFrom('api_keys')
    .selectAll()
    .where('hash', '=', hash)
    .executeTakeFirstOrThrow()
}

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createSessionCaller, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { recordSpend } from '../../../../test/support/spend.ts'
import { createMember } from '../../../identity/members.ts'

/** A Wednesday noon: half of the day has passed. */
const noon = '2027-03-03T12:00:00.000Z'
const today = '2027-03-03'
const lastMonth = '2027-02-20'

interface NearBudget {
  kind: string
  name: string
  interval: string
  used: number
}

describeOnEachDatabase('GET /budgets/nearest', (server) => {
  const workspaces: Record<string, string> = {}
  let limitedKey = ''
  beforeAll(async () => {
    const { gateway, clock, own } = server()
    clock.freeze(noon)
    await server().call('POST', '/credits/grants', { body: { amount: 1000 } })
    for (const slug of ['near', 'far', 'other']) {
      const created = await server().call('POST', '/workspaces', { body: { name: slug, slug } })
      workspaces[slug] = created.body.data.id
    }
    const put = (slug: string, interval: string, limit_usd: number) =>
      server().call('PUT', `/workspaces/${workspaces[slug]}/budgets/${interval}`, { body: { limit_usd } })
    await put('near', 'daily', 9)
    await put('near', 'monthly', 100)
    await put('far', 'daily', 1000)
    const member = await createMember(gateway.db, clock, {
      organizationId: own.organization.id,
      email: 'near@example.com',
      role: 'org:member',
    })
    await server().call('PATCH', `/organization/members/${member.id}`, { body: { limit: 10 } })
    const createKey = async (body: object) => {
      const created = await server().call('POST', '/keys', { body })
      return gateway.db
        .selectFrom('api_keys')
        .selectAll()
        .where('hash', '=', created.body.data.hash)
        .executeTakeFirstOrThrow()
    }
    const near = { workspace_id: workspaces.near, creator_user_id: member.id }
    const spender = await createKey({ name: 'spender', ...near, limit: 8, limit_reset: 'daily' })
    await recordSpend(gateway, spender, today, { credits: 8 })
    const reset = await createKey({
      name: 'reset',
      workspace_id: workspaces.far,
      limit: 5,
      limit_reset: 'monthly',
    })
    await recordSpend(gateway, reset, lastMonth, { credits: 5 })
    const byok = { name: 'byok', workspace_id: workspaces.other, limit: 5, include_byok_in_limit: true }
    await recordSpend(gateway, await createKey(byok), today, { byok: 4.5 })
    const disabled = await createKey({ name: 'disabled', workspace_id: workspaces.other, limit: 1 })
    await recordSpend(gateway, disabled, today, { credits: 1 })
    await server().call('PATCH', `/keys/${disabled.hash}`, { body: { disabled: true } })
    const limited = await server().call('POST', '/management-keys', {
      body: { name: 'limited', permissions: ['budgets:read'], workspace_ids: [workspaces.other] },
    })
    limitedKey = limited.body.key
  })
  afterAll(() => server().clock.release())

  const list = async (query = '', key?: string): Promise<NearBudget[]> => {
    const { status, body } = await server().call('GET', `/budgets/nearest${query}`, key ? { key } : {})
    expect([status, body.error]).toEqual([200, undefined])
    return body.data
  }
  const name = ({ kind, name, interval }: NearBudget) => `${kind} ${name} ${interval}`

  test('budgets of which 80 % is used in their present window, most used first', async () => {
    const found = await list()
    expect(found.map(name)).toEqual([
      'key spender daily',
      'key byok lifetime',
      'workspace near daily',
      'member near@example.com lifetime',
    ])
    expect(found[2]).toMatchObject({ limit: 9, spent: 8, remaining: 1, forecast: 16, used: 8 / 9 })
    expect(found[0]).toMatchObject({ workspace_id: workspaces.near, key_hash: expect.any(String) })
  })

  test('a lower share, and a limit on their number', async () => {
    const found = await list('?min_used=1')
    expect(found.map(name)).toContain('workspace near monthly')
    expect(found.map(({ kind }) => kind)).toContain('credits')
    expect(found.map(name)).not.toContain('key disabled lifetime')
    expect(found.map(name)).not.toContain('key reset monthly')
    expect((await list('?min_used=1&limit=2')).map(name)).toEqual(found.slice(0, 2).map(name))
  })

  test('those of one workspace', async () => {
    expect((await list(`?workspace_id=${workspaces.near}`)).map(name)).toEqual([
      'key spender daily',
      'workspace near daily',
    ])
    const { workspace } = server().foreign
    expect((await server().call('GET', `/budgets/nearest?workspace_id=${workspace.id}`)).status).toBe(404)
  })

  test('R37 a caller of one workspace sees nothing of others, and another organization nothing at all', async () => {
    expect((await list('?min_used=0', limitedKey)).map(name)).toEqual(['key byok lifetime'])
    const refused = `/budgets/nearest?workspace_id=${workspaces.near}`
    expect((await server().call('GET', refused, { key: limitedKey })).status).toBe(403)
    const none = await createSessionCaller(server(), { tenant: server().foreign, role: 'org:admin' })
    const { body } = await none.call('GET', '/budgets/nearest?min_used=1')
    expect(body.data).toEqual([])
  })

  test.each(['min_used=101', 'limit=0', 'workspace_id=x'])('400 for %s', async (query) => {
    expect((await server().call('GET', `/budgets/nearest?${query}`)).status).toBe(400)
  })
})

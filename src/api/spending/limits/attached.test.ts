import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds, startTestServer, type TestServer } from '../../../../test/support/harness.ts'

interface Limit {
  id: string
  source: string
  amount: number
  window: string
  match: Record<string, unknown>
}

describe.each(databaseKinds)('limits of records (%s)', (kind) => {
  let server: TestServer
  let workspaceId: string
  let key: { hash: string; secret: string }
  let guardrailId: string
  let memberId: string

  beforeAll(async () => {
    server = await startTestServer(kind)
    const created = await call('POST', '/keys', { name: 'metered', limit: 2.5, limit_reset: 'monthly' })
    key = { hash: created.data.hash, secret: created.key }
    workspaceId = created.data.workspace_id
    await call('PUT', `/workspaces/${workspaceId}/budgets/daily`, { limit_usd: 10 })
    await call('PUT', `/workspaces/${workspaceId}/budgets/monthly`, { limit_usd: 100 })
    const guardrail = { name: 'Budget', workspace_id: workspaceId, limit_usd: 7, reset_interval: 'weekly' }
    guardrailId = (await call('POST', '/guardrails', guardrail)).data.id
    await call('POST', `/guardrails/${guardrailId}/assignments/keys`, { key_hashes: [key.hash] })
    const member = await call('POST', '/organization/members', { email: 'ann@example.com', limit: 40 })
    memberId = member.data.id
    const declared = { name: 'Requests', measure: 'requests', window: 'minute', amount: 9 }
    await call('POST', '/limits', declared)
  })
  afterAll(() => server.stop())

  async function call(method: string, path: string, body?: object) {
    const response = await server.call(method, path, body && { body })
    expect([method, path, response.status < 300 || response.body]).toEqual([method, path, true])
    return response.body
  }
  const list = async (query = ''): Promise<Limit[]> => (await call('GET', `/limits${query}`)).data
  const idOf = {
    key: () => `key:${key.hash}`,
    member: () => `member:${memberId}`,
    daily: () => `workspace:${workspaceId}:daily`,
    monthly: () => `workspace:${workspaceId}:monthly`,
    guardrail: () => `guardrail:${guardrailId}`,
  }

  test('are listed with the declared ones, in pages', async () => {
    const all = await list('?limit=100')
    const shown = Object.fromEntries(
      all.map(({ id, source, amount, window }) => [id, [source, amount, window]]),
    )
    expect(shown).toMatchObject({
      [idOf.key()]: ['key', 2.5, 'month'],
      [idOf.member()]: ['member', 40, 'lifetime'],
      [idOf.daily()]: ['workspace', 10, 'day'],
      [idOf.monthly()]: ['workspace', 100, 'month'],
      [idOf.guardrail()]: ['guardrail', 7, 'week'],
    })
    expect(all.map(({ source }) => source).toSorted()).toEqual(
      ['guardrail', 'key', 'limit', 'member', 'workspace', 'workspace'].toSorted(),
    )
    const pages = [await list('?limit=4'), await list('?limit=4&offset=4')]
    expect(pages.flat()).toEqual(all)
    expect((await call('GET', '/limits?limit=1')).total_count).toBe(6)
  })

  test('are found by their source, key and id', async () => {
    expect((await list('?source=workspace')).map(({ id }) => id)).toEqual([idOf.daily(), idOf.monthly()])
    expect((await list(`?key_hash=${key.hash}`)).map(({ id }) => id)).toEqual([idOf.key()])
    expect((await list('?source=limit')).map(({ source }) => source)).toEqual(['limit'])
    const { data } = await call('GET', `/limits/${idOf.guardrail()}`)
    expect(data).toMatchObject({ name: 'Budget', per: ['key'], match: { guardrail_id: guardrailId } })
    for (const id of ['key:0000', `workspace:${workspaceId}:weekly`, 'member:nobody'])
      expect((await server.call('GET', `/limits/${id}`)).status).toBe(404)
    expect((await server.call('GET', '/limits/nothing')).status).toBe(400)
  })

  test('show what is used, and what is left', async () => {
    const reply = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}` },
      body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    const { usage } = (await reply.json()) as { usage: { cost: number } }
    expect(usage.cost).toBeGreaterThan(0)
    const { data } = await call('GET', '/limits/usage?limit=100')
    const counts = (id: string) => data.find((limit: Limit) => limit.id === id).counts
    const used = (amount: number) => ({ used: usage.cost, remaining: expect.closeTo(amount - usage.cost, 9) })
    expect(counts(idOf.key())).toEqual([{ counter: {}, ...used(2.5) }])
    expect(counts(idOf.daily())).toEqual([{ counter: {}, ...used(10) }])
    expect(counts(idOf.guardrail())).toEqual([{ counter: { key: key.hash }, ...used(7) }])
    expect(counts(idOf.member())).toEqual([{ counter: {}, used: 0, remaining: 40 }])
  })

  test('change through either operation, with the audit event of the record', async () => {
    for (const [id, amount] of [
      [idOf.key(), 3],
      [idOf.member(), 41],
      [idOf.daily(), 11],
      [idOf.guardrail(), 8],
    ] as const)
      expect((await call('PATCH', `/limits/${id}`, { amount })).data).toMatchObject({ id, amount })
    expect((await call('GET', `/keys/${key.hash}`)).data).toMatchObject({ limit: 3, limit_reset: 'monthly' })
    expect((await call('GET', `/organization/members/${memberId}`)).data.limit).toBe(41)
    expect((await call('GET', `/workspaces/${workspaceId}/budgets/daily`)).data.limit_usd).toBe(11)
    expect((await call('GET', `/guardrails/${guardrailId}`)).data.limit_usd).toBe(8)
    await call('PATCH', `/keys/${key.hash}`, { limit: 4 })
    expect((await call('GET', `/limits/${idOf.key()}`)).data.amount).toBe(4)
    const { data } = await call('GET', '/audit?limit=20')
    const actions = data.map(({ action }: { action: string }) => action)
    for (const action of ['key.update', 'member.update', 'budget.update', 'guardrail.update'])
      expect(actions).toContain(action)
  })

  test('refuse what their record does not allow, and name the field', async () => {
    const refused = async (id: string, body: object) => {
      const { status, body: answer } = await server.call('PATCH', `/limits/${id}`, { body })
      return [status, answer.error.param]
    }
    expect(await refused(idOf.daily(), { amount: 1000 })).toEqual([400, 'amount'])
    expect(await refused(idOf.guardrail(), { amount: 0 })).toEqual([400, 'amount'])
    expect(await refused(idOf.key(), { name: 'Other' })).toEqual([400, 'name'])
    expect(await refused(idOf.key(), { enabled: false })).toEqual([400, 'enabled'])
    expect(await refused(idOf.member(), { include_byok: true })).toEqual([400, 'include_byok'])
  })

  test('need the permission for their record as well', async () => {
    const { key: secret } = await call('POST', '/management-keys', {
      name: 'budgets only',
      permissions: ['budgets:read', 'budgets:write'],
    })
    const change = (id: string) =>
      server.call('PATCH', `/limits/${id}`, { body: { amount: 20 }, key: secret })
    const denied = await Promise.all([idOf.key(), idOf.member(), idOf.guardrail()].map(change))
    expect(denied.map(({ status }) => status)).toEqual([403, 403, 403])
    expect((await change(idOf.daily())).status).toBe(200)
  })

  test('are removed without their record', async () => {
    for (const id of [idOf.key(), idOf.member(), idOf.daily(), idOf.guardrail()]) {
      await call('DELETE', `/limits/${id}`)
      expect((await server.call('DELETE', `/limits/${id}`)).status).toBe(404)
    }
    expect((await call('GET', `/keys/${key.hash}`)).data.limit).toBeNull()
    expect((await call('GET', `/guardrails/${guardrailId}`)).data).toMatchObject({
      limit_usd: null,
      reset_interval: null,
    })
    expect((await list()).map(({ source }) => source).toSorted()).toEqual(['limit', 'workspace'])
  })
})

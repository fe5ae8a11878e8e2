import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds, startTestServer, type TestServer } from '../../../../test/support/harness.ts'

describe.each(databaseKinds)('the limits in GET /key (%s)', (kind) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(kind)
    server.clock.freeze('2028-03-15T12:00:30.000Z')
  })
  afterAll(() => server.stop())

  async function create(path: string, body: object) {
    const response = await server.call('POST', path, { body })
    expect([path, response.status, response.status === 201 || response.body]).toEqual([path, 201, true])
    return response.body
  }

  test('are those of every request, the closest first, with what is used', async () => {
    await create('/tiers', { name: 'free' })
    const { key, data } = await create('/keys', {
      ...{ name: 'limited', tier: 'free', limit: 2, limit_reset: 'monthly' },
    })
    const workspace = `/workspaces/${data.workspace_id}/budgets/daily`
    expect((await server.call('PUT', workspace, { body: { limit_usd: 100 } })).status).toBe(200)
    const limits = [
      { name: 'Rate', measure: 'requests', window: 'minute', amount: 4, match: { tier: 'free' } },
      { name: 'Weekly', measure: 'usd', window: 'week', amount: 50, per: ['key'] },
      { name: 'At once', measure: 'concurrent_requests', amount: 9 },
      { name: 'Each user', measure: 'requests', window: 'day', amount: 1000, per: ['end_user'] },
      { name: 'One model', measure: 'tokens', window: 'day', amount: 9000, match: { models: ['openai/*'] } },
      { name: 'Others', measure: 'requests', window: 'day', amount: 1, match: { end_user: 'nobody' } },
    ]
    for (const limit of limits) await create('/limits', limit)
    const request = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await server.call('POST', '/chat/completions', { key, body: request })).status).toBe(200)
    const { body } = await server.call('GET', '/key', { key })
    const { usage } = body.data
    expect(usage).toBeGreaterThan(0)
    expect(body.data.limits[0]).toEqual({
      ...{ kind: 'limit', name: 'Rate', measure: 'requests', window: 'minute' },
      ...{ amount: 4, used: 1, remaining: 3, resets_at: '2028-03-15T12:01:00.000Z' },
    })
    const spending = body.data.limits
      .slice(1)
      .map(({ name, remaining, ...limit }: { name: string; remaining: number }) => limit)
    expect(spending).toEqual([
      {
        kind: 'key',
        measure: 'usd',
        window: 'month',
        amount: 2,
        used: usage,
        resets_at: '2028-04-01T00:00:00.000Z',
      },
      {
        kind: 'limit',
        measure: 'usd',
        window: 'week',
        amount: 50,
        used: usage,
        resets_at: '2028-03-20T00:00:00.000Z',
      },
      {
        kind: 'workspace',
        measure: 'usd',
        window: 'day',
        amount: 100,
        used: usage,
        resets_at: '2028-03-16T00:00:00.000Z',
      },
    ])
  })

  test('a management key has none', async () => {
    const { body } = await server.call('GET', '/key')
    expect(body.data.limits).toEqual([])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds, startTestServer, type TestServer } from '../../../../test/support/harness.ts'

describe.each(databaseKinds)('end users (%s)', (kind) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer(kind)
    for (const user of ['small', 'large', 'large', 'umlaut ä/?']) expect((await send(user)).status).toBe(200)
    expect((await send(null)).status).toBe(200)
  })
  afterAll(() => server.stop())

  const send = (user: string | null, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.own.inferenceKey}`, ...headers },
      body: JSON.stringify({
        model: 'sandbox/echo',
        user,
        messages: [{ role: 'user', content: user === 'large' ? 'word '.repeat(500) : 'Hello' }],
      }),
    })
  const later = () => new Date(server.gateway.clock.now() + 60_000).toISOString()
  const list = async (query = '') => {
    const { status, body } = await server.call('GET', `/end-users?to=${later()}${query}`)
    expect(status).toBe(200)
    return body as { data: Record<string, unknown>[]; total_count: number }
  }
  const path = (name: string) => `/end-users/${encodeURIComponent(name)}`

  test('are listed with their usage, the largest spending first', async () => {
    const { data, total_count } = await list()
    expect(total_count).toBe(3)
    expect(new Set(data.map(({ id }) => id))).toEqual(new Set(['large', 'small', 'umlaut ä/?']))
    const spending = data.map(({ usage }) => Number(usage))
    expect(spending).toEqual(spending.toSorted((a, b) => b - a))
    const today = new Date(server.gateway.clock.now()).toISOString().slice(0, 10)
    expect(data.find(({ id }) => id === 'large')).toMatchObject({
      requests: 2,
      first_seen: expect.any(String),
      last_seen: today,
      blocked: false,
    })
    expect((await list('&limit=1&offset=1')).data).toEqual(data.slice(1, 2))
  })

  test('have a record of their own', async () => {
    const { status, body } = await server.call('GET', `${path('umlaut ä/?')}?to=${later()}`)
    expect([status, body.data.requests]).toEqual([200, 1])
    expect((await server.call('GET', path('nobody'))).status).toBe(404)
  })

  test('can only be read for a year', async () => {
    const { status, body } = await server.call('GET', '/end-users?from=2020-01-01T00:00:00Z')
    expect([status, body.error.param]).toEqual([400, 'from'])
  })

  test('are blocked and unblocked at once, and both are in the audit log', async () => {
    const change = (body: object) => server.call('PATCH', path('small'), { body })
    const blocked = await change({ blocked: true, reason: 'Chargeback' })
    expect(blocked.body.data).toMatchObject({ id: 'small', blocked: true, block_reason: 'Chargeback' })
    for (const reply of [await send('small'), await send(null, { 'x-headgate-user': 'small' })]) {
      expect(reply.status).toBe(403)
      const { error } = (await reply.json()) as { error: { message: string; metadata: object } }
      expect(error.message).toContain('"small"')
      expect(error.metadata).toMatchObject({ reason: 'end_user_blocked', end_user: 'small' })
    }
    expect((await send('large')).status).toBe(200)
    expect((await change({ blocked: false })).body.data).toMatchObject({ blocked: false, block_reason: null })
    expect((await send('small')).status).toBe(200)
    const entries = await server.gateway.db
      .selectFrom('audit_entries')
      .select('action')
      .where('action', '=', 'end_user.update')
      .execute()
    expect(entries).toHaveLength(2)
  })

  test('S3 are those of one organization', async () => {
    const { foreign } = server
    const body = { blocked: true }
    const change = (blocked: boolean) =>
      server.call('PATCH', path('large'), { key: foreign.managementKey, body: { ...body, blocked } })
    expect((await change(true)).body.data).toMatchObject({ requests: 0, blocked: true })
    expect((await send('large')).status).toBe(200)
    expect((await list()).data.find(({ id }) => id === 'large')).toMatchObject({ blocked: false })
    await change(false)
  })
})

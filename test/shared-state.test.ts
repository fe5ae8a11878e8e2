import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Gateway } from '../src/gateway/gateway.ts'
import { buildSettings } from './inference/two-upstreams.ts'
import { databaseKinds, type TestServer } from './support/harness.ts'
import { startTwoNodes } from './support/nodes.ts'
import { vendorReply } from './support/replies.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { hasValkey, TestValkey } from './support/valkey.ts'
import { waitUntil } from './support/wait-until.ts'

const { body: reply } = vendorReply('chat', 'text')

/** Limits up to ten thousand are counted request by request. */
const perMinute = 7

describe.skipIf(!hasValkey || !databaseKinds.includes('postgres'))('two nodes', () => {
  let valkey: TestValkey
  let upstreams: [Upstream, Upstream]
  let nodes: [TestServer, TestServer]

  beforeAll(async () => {
    valkey = await TestValkey.start()
    upstreams = [await startUpstream(), await startUpstream()]
    const settings = buildSettings(upstreams[0].url, upstreams[1].url)
    nodes = await startTwoNodes({ settings }, valkey.url)
    // In the middle of a window.
    nodes[0].clock.freeze(`${new Date().toISOString().slice(0, 16)}:30.000Z`)
    for (const { gateway } of nodes) {
      gateway.routing.random = () => 0
      gateway.node.liveNodes = 2
    }
    for (const upstream of upstreams) upstream.setDefault({ json: reply })
  })

  afterAll(async () => {
    await nodes[1].stop()
    await nodes[0].stop()
    for (const upstream of upstreams) await upstream.stop()
    await valkey.stop()
  })

  /** Sends a request to a model with a key that has a window of its own. */
  function send(
    node: TestServer,
    key: string,
    {
      model = 'test/chat',
      headers = {},
      ...body
    }: Record<string, unknown> & { headers?: Record<string, string> } = {},
  ): Promise<Response> {
    return fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], ...body }),
    })
  }

  async function sendAll(key: string, count: number): Promise<number[]> {
    const responses = await Promise.all(
      Array.from({ length: count }, (_, index) => send(nodes[index % 2]!, key)),
    )
    await Promise.all(responses.map((response) => response.text()))
    return responses.map(({ status }) => status)
  }

  async function createKey(): Promise<{ secret: string; hash: string }> {
    const { body } = await nodes[0].call('POST', '/keys', { body: { name: 'own' } })
    return { secret: body.key, hash: body.data.hash }
  }

  /** Sets the limit of requests for one test. */
  async function withLimit(limit: number, work: () => Promise<void>): Promise<void> {
    const usual = nodes[0].gateway.settings.limits.requests_per_minute
    const set = (requests_per_minute: number) => {
      for (const { gateway } of nodes) Object.assign(gateway.settings.limits, { requests_per_minute })
    }
    set(limit)
    await work().finally(() => set(usual))
  }

  /** Resolves when the second node has received a message; listeners before it have applied it. */
  function waitForMessage({ cluster }: Gateway, channel: string): Promise<string> {
    return new Promise((resolve) => cluster.subscribe(channel, resolve))
  }

  const statusOf = async (response: Promise<Response>) => {
    const { status, headers } = await response.then(async (answer) => {
      await answer.text()
      return answer
    })
    return { status, cache: headers.get('x-service-cache-status') }
  }

  test('R16 a limit of requests is that of both together, exactly', async () => {
    const { secret } = await createKey()
    await withLimit(perMinute, async () => {
      const statuses = await sendAll(secret, 20)
      expect(statuses.filter((status) => status === 200)).toHaveLength(perMinute)
      expect(statuses.filter((status) => status === 429)).toHaveLength(20 - perMinute)
    })
  })

  async function limitKey(hash: string, limit: Record<string, unknown>): Promise<void> {
    const received = waitForMessage(nodes[1].gateway, 'accounts')
    const body = { name: 'Shared', match: { key_hash: hash }, ...limit }
    expect((await nodes[0].call('POST', '/limits', { body })).status).toBe(201)
    await received
  }

  test('R16 concurrent requests of a declared limit are those of both together', async () => {
    const { secret, hash } = await createKey()
    await limitKey(hash, { measure: 'concurrent_requests', amount: 3 })
    const release = Promise.withResolvers<void>()
    upstreams[0].enqueue(...Array.from({ length: 3 }, () => ({ json: reply, waitFor: release.promise })))
    const before = upstreams[0].requests.length
    const running = [0, 1, 0].map((node) => statusOf(send(nodes[node]!, secret)))
    await waitUntil(() => upstreams[0].requests.length === before + 3)
    expect((await statusOf(send(nodes[0], secret))).status).toBe(429)
    expect((await statusOf(send(nodes[1], secret))).status).toBe(429)
    release.resolve()
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200])
    await waitUntil(async () => (await statusOf(send(nodes[1], secret))).status === 200)
  })

  test('R16 the limits of other requests are shared too', async () => {
    const calls = Array.from({ length: 40 }, (_, index) => nodes[index % 2]!.call('GET', '/system'))
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(30)
  })

  test('a hundred plain requests wait for the server once', async () => {
    const { secret } = await createKey()
    const [{ gateway }] = nodes
    await statusOf(send(nodes[0], secret))
    const { operations } = gateway.cluster.status
    for (let count = 0; count < 100; count++) await statusOf(send(nodes[0], secret))
    expect(gateway.cluster.status.operations - operations).toBe(0)
  })

  test('a revoked key is rejected by the other node once it has the message', async () => {
    const created = waitForMessage(nodes[1].gateway, 'accounts')
    const { secret, hash } = await createKey()
    await created
    expect((await statusOf(send(nodes[1], secret))).status).toBe(200)
    const revoked = waitForMessage(nodes[1].gateway, 'accounts')
    await nodes[0].call('PATCH', `/keys/${hash}`, { body: { disabled: true } })
    await revoked
    expect((await statusOf(send(nodes[1], secret))).status).toBe(401)
  })

  test('a routing rule applies on the other node once it has the message', async () => {
    const created = waitForMessage(nodes[1].gateway, 'accounts')
    const { secret } = await createKey()
    await created
    expect((await statusOf(send(nodes[1], secret))).status).toBe(200)
    const added = waitForMessage(nodes[1].gateway, 'accounts')
    const rule = { name: 'No', when: `end_user == 'nobody'`, then: { reject: { message: 'No.' } } }
    const { body } = await nodes[0].call('POST', '/routing-rules', { body: rule })
    await added
    expect((await statusOf(send(nodes[1], secret, { user: 'nobody' }))).status).toBe(403)
    const deleted = waitForMessage(nodes[1].gateway, 'accounts')
    await nodes[0].call('DELETE', `/routing-rules/${body.data.id}`)
    await deleted
    expect((await statusOf(send(nodes[1], secret, { user: 'nobody' }))).status).toBe(200)
  })

  test('a model that an operator disables is unknown to the other node once it has the message', async () => {
    const before = nodes[1].gateway.catalog
    await nodes[0].call('PUT', '/catalogue/models/test/cent', { body: { name: 'Renamed' } })
    await waitUntil(() => nodes[1].gateway.catalog !== before)
    expect(nodes[1].gateway.overrides.version).toBe(nodes[0].gateway.overrides.version)
  })

  test('a Retry-After that one node received is respected by the other', async () => {
    const { secret } = await createKey()
    const received = waitForMessage(nodes[1].gateway, 'restrictions')
    upstreams[0].enqueue({
      status: 429,
      headers: { 'retry-after': '60' },
      json: { error: { message: 'slow' } },
    })
    await statusOf(send(nodes[0], secret, { model: 'test/both-chat' }))
    await received
    const [first, second] = upstreams.map(({ requests }) => requests.length)
    await statusOf(send(nodes[1], secret, { model: 'test/both-chat' }))
    expect(upstreams.map(({ requests }) => requests.length)).toEqual([first!, second! + 1])
    for (const { gateway } of nodes)
      for (const { id } of [...gateway.routing.health.listFailing()]) gateway.routing.health.forget(id)
  })

  test('R36 a reply that one node cached is a hit on the other, and a refresh replaces both', async () => {
    const { secret } = await createKey()
    const cached = (node: TestServer, headers: Record<string, string> = {}) =>
      statusOf(send(node, secret, { headers: { 'x-service-cache': 'true', ...headers }, user: 'cached' }))
    expect(await cached(nodes[0])).toEqual({ status: 200, cache: 'MISS' })
    await waitUntil(async () => Number(await valkey.send('DBSIZE')) > 0)
    // The marks of restored counts are no replies.
    const listReplies = async () => (await listValues(valkey)).filter((value) => value !== '1')
    await waitUntil(async () => (await listReplies()).length > 0)
    const values = await listReplies()
    expect(values.every((value) => value.startsWith('v1.'))).toBe(true)
    expect(await cached(nodes[1])).toEqual({ status: 200, cache: 'HIT' })
    const deleted = waitForMessage(nodes[1].gateway, 'responses')
    expect(await cached(nodes[0], { 'x-service-cache-clear': 'true' })).toEqual({
      status: 200,
      cache: 'MISS',
    })
    const hash = await deleted
    expect(nodes[1].gateway.responseCache.get(hash, nodes[1].clock.now())).toBeUndefined()
  })

  test('a conversation stays with its endpoint on the other node', async () => {
    const received = waitForMessage(nodes[1].gateway, 'sessions')
    const [a, b] = nodes.map(({ gateway }) => gateway.routing.sticky)
    const now = nodes[0].clock.now()
    a!.remember('conversation', 'endpoint', now)
    a!.remember('conversation', 'endpoint', now + 1)
    expect(JSON.parse(await received).sticky).toEqual([['conversation', 'endpoint']])
    expect(b!.find('conversation', now)).toBe('endpoint')
  })

  test('failed sign-ins on one node delay those on the other', async () => {
    const attempt = { kind: 'password' as const, ip: '192.0.2.1', name: 'ann@example.com' }
    const [a, b] = nodes.map(({ gateway }) => gateway.identity.signInLimiter)
    const now = nodes[0].clock.now()
    for (let count = 0; count < 5; count++) {
      const received = waitForMessage(nodes[1].gateway, 'sign-in')
      a!.begin(attempt, now)
      await received
    }
    expect(() => b!.begin(attempt, now)).toThrow('Too many attempts')
  })

  test('a server that loses its data, is killed and restarted: every request is served', async () => {
    const { secret } = await createKey()
    const statuses: number[] = []
    const connected = () => nodes.every(({ gateway }) => gateway.cluster.status.isConnected)
    const faults = [
      () => valkey.send('FLUSHALL'),
      () => valkey.stop(),
      () => valkey.restart(),
      () => waitUntil(connected),
    ]
    for (const fault of faults) {
      const running = sendAll(secret, 20)
      await fault()
      statuses.push(...(await running), ...(await sendAll(secret, 20)))
    }
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  test('while it is away each node admits its share, the warning says so, and changes arrive by the poll', async () => {
    const { secret, hash } = await createKey()
    await valkey.stop()
    await waitUntil(() => nodes.every(({ gateway }) => !gateway.cluster.status.isConnected))
    await withLimit(perMinute, async () => {
      const statuses = await sendAll(secret, 20)
      expect(statuses.filter((status) => status === 200)).toHaveLength(2 * Math.floor(perMinute / 2))
    })
    nodes[0].clock.advance(60_000)
    const { body } = await nodes[0].call('GET', '/system')
    expect(body.data.warnings.map(({ code }: { code: string }) => code)).toContain('redis_unavailable')
    await nodes[0].call('PATCH', `/keys/${hash}`, { body: { disabled: true } })
    await waitUntil(async () => (await statusOf(send(nodes[1], secret))).status === 401)
    await valkey.restart()
  })
})

/** The stored values, without windows and slots. */
async function listValues(valkey: TestValkey): Promise<string[]> {
  const keys = (await valkey.send('KEYS', '*:value:*')) as string[]
  return Promise.all(keys.map(async (key) => String(await valkey.send('GET', key))))
}

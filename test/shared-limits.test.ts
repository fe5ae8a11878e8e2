import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { buildSettings } from './inference/two-upstreams.ts'
import { databaseKinds, type TestServer } from './support/harness.ts'
import { startThreeNodes } from './support/nodes.ts'
import { vendorReply } from './support/replies.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'
import { hasValkey, newRedisEnvironment } from './support/valkey.ts'
import { waitUntil } from './support/wait-until.ts'

const { body: reply } = vendorReply('chat', 'text')
const hasPostgres = databaseKinds.includes('postgres')

/** Each allows seven requests of the model that costs a cent, for what `match` and `per` say. */
const measures = {
  requests: { measure: 'requests', window: 'day', amount: 7 },
  'short-term dollars': { measure: 'usd', window: 'hour', amount: 0.07 },
  dollars: { measure: 'usd', window: 'month', amount: 0.07 },
}
const allowed = 7
const sent = 21

interface Scene {
  match?: object
  per?: string[]
  /** What the requests of the scene have. */
  key?: object
  headers?: Record<string, string>
  /** Requests that the limit does not count, or counts by themselves. */
  others?: { key?: object; headers?: Record<string, string>; model?: string }
}

const scenes: Record<string, Scene> = {
  'an end user that nobody has declared': {
    per: ['end_user'],
    headers: { 'x-headgate-user': 'ada' },
    others: { headers: { 'x-headgate-user': 'bob' } },
  },
  'a tag': {
    match: { tags: ['project=apollo'] },
    headers: { 'x-headgate-tags': 'project=apollo' },
    others: { headers: { 'x-headgate-tags': 'project=gemini' } },
  },
  'each value of a tag': {
    per: ['tag:project'],
    headers: { 'x-headgate-tags': 'project=apollo' },
    others: { headers: { 'x-headgate-tags': 'project=gemini' } },
  },
  'a pattern of models': { match: { models: ['test/ce*'] }, others: { model: 'test/chat' } },
  'a provider': { match: { providers: ['one-chat'] }, others: { model: 'test/both-chat' } },
  'a tier': { match: { tier: 'free' }, key: { tier: 'free' }, others: { key: { tier: null } } },
}

const sharings: [string, boolean, () => Record<string, string>][] = [
  ['with Valkey', hasValkey && hasPostgres, () => newRedisEnvironment()],
  ['with PostgreSQL alone', hasPostgres, () => ({})],
]

describe.each(sharings)('declared limits on three nodes, %s', (sharing, isPossible, environment) => {
  const isShared = sharing === 'with Valkey'
  let upstreams: [Upstream, Upstream]
  let nodes: [TestServer, TestServer, TestServer]

  beforeAll(async () => {
    if (!isPossible) return
    upstreams = [await startUpstream(), await startUpstream()]
    const settings = buildSettings(upstreams[0].url, upstreams[1].url)
    nodes = await startThreeNodes({ settings, environment: environment() })
    nodes[0].clock.freeze('2028-03-15T12:30:30.000Z')
    for (const { gateway } of nodes) gateway.node.liveNodes = nodes.length
    for (const upstream of upstreams) upstream.setDefault({ json: reply })
    await nodes[0].call('POST', '/tiers', { body: { name: 'free' } })
  })
  afterAll(async () => {
    if (!isPossible) return
    for (const node of nodes.toReversed()) await node.stop()
    for (const upstream of upstreams) await upstream.stop()
  })

  async function createKey(fields: object = {}): Promise<{ secret: string; hash: string }> {
    const { body } = await nodes[0].call('POST', '/keys', { body: { name: 'own', ...fields } })
    return { secret: body.key, hash: body.data.hash }
  }

  async function createLimit(body: object): Promise<string> {
    const response = await nodes[0].call('POST', '/limits', { body: { name: 'Shared', ...body } })
    expect([response.status, response.status === 201 || response.body]).toEqual([201, true])
    return response.body.data.id
  }

  async function sendAll(
    key: string,
    {
      headers = {},
      model = 'test/cent',
      count = sent,
    }: Pick<Scene, 'headers'> & { model?: string; count?: number },
  ): Promise<number[]> {
    const responses = Array.from({ length: count }, async (_, index) => {
      const body = { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 }
      const url = `${nodes[index % nodes.length]?.url}/v1/chat/completions`
      const authorization = `Bearer ${key}`
      const response = await fetch(url, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      await response.text()
      return response.status
    })
    return (await Promise.all(responses)).toSorted()
  }

  /** Without messages between them, nodes look for changes every second: a later limit has arrived once they show it. */
  async function waitForAllNodes({ secret, hash }: { secret: string; hash: string }): Promise<void> {
    const name = crypto.randomUUID()
    const marker = { name, measure: 'requests', window: 'lifetime', amount: 1_000_000 }
    await createLimit({ ...marker, match: { key_hash: hash } })
    for (const node of nodes)
      await waitUntil(async () => {
        const { body } = await node.call('GET', '/key', { key: secret })
        return body.data.limits.some((limit: { name: string }) => limit.name === name)
      })
  }

  const cases = Object.entries(scenes).flatMap(([name, scene]) =>
    Object.entries(measures).map(([measure, limit]) => ({ measure, name, limit, scene })),
  )
  test.skipIf(!isPossible).each(cases)(
    'R16 $measure for $name are limited for all nodes together',
    async ({ limit, scene: { match = {}, per = [], key: fields = {}, headers = {}, others = {} } }) => {
      const key = await createKey(fields)
      const isOfTier = 'tier' in match
      const id = await createLimit({
        ...limit,
        per,
        match: isOfTier ? match : { ...match, key_hash: key.hash },
      })
      await waitForAllNodes(key)
      const statuses = await sendAll(key.secret, { headers })
      const admitted = statuses.filter((status) => status === 200).length
      const rejection = limit.measure === 'usd' ? 402 : 429
      expect(statuses).toEqual([...Array(admitted).fill(200), ...Array(sent - admitted).fill(rejection)])
      // Without a server that counts for all of them, each node has a third of what the ledger does not count.
      const isExact = isShared || limit.window === 'month'
      expect(admitted).toBe(isExact ? allowed : nodes.length * Math.floor(allowed / nodes.length))
      const other = others.key ? await createKey(others.key) : key
      const { headers: otherHeaders = headers, model = 'test/cent' } = others
      expect(await sendAll(other.secret, { headers: otherHeaders, model, count: 3 })).toEqual([200, 200, 200])
      expect((await nodes[1].call('DELETE', `/limits/${id}`)).status).toBe(200)
    },
  )

  test.skipIf(!isPossible)('R16 a limit that one node raises is raised on all of them', async () => {
    const key = await createKey()
    const id = await createLimit({
      measure: 'requests',
      window: 'day',
      amount: 3,
      match: { key_hash: key.hash },
    })
    await waitForAllNodes(key)
    expect((await sendAll(key.secret, {})).filter((status) => status === 200)).toHaveLength(3)
    expect((await nodes[2].call('PATCH', `/limits/${id}`, { body: { amount: 9 } })).status).toBe(200)
    await waitForAllNodes(key)
    expect((await sendAll(key.secret, {})).filter((status) => status === 200)).toHaveLength(6)
  })
})

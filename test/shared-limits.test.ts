import { beforeAll, expect, test } from 'bun:test'
import { buildSettings } from './inference/two-upstreams.ts'
import { describeOnThreeNodes } from './support/three-nodes.ts'
import { waitUntil } from './support/wait-until.ts'

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

describeOnThreeNodes('declared limits', buildSettings, (scene, isShared) => {
  beforeAll(() => scene().manage(0, 'POST', '/tiers', { name: 'free' }))

  const createLimit = async (body: object): Promise<string> =>
    (await scene().manage(0, 'POST', '/limits', { name: 'Shared', ...body })).id

  async function sendAll(
    key: string,
    {
      headers = {},
      model = 'test/cent',
      count = sent,
    }: Pick<Scene, 'headers'> & { model?: string; count?: number },
  ): Promise<number[]> {
    const { nodes } = scene()
    const responses = Array.from({ length: count }, async (_, index) => {
      const node = nodes[index % nodes.length] ?? nodes[0]
      const response = await scene().send(node, key, { model, headers })
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
    for (const node of scene().nodes)
      await waitUntil(async () => {
        const { body } = await node.call('GET', '/key', { key: secret })
        return body.data.limits.some((limit: { name: string }) => limit.name === name)
      })
  }

  /** Without messages each takes seconds: the scenes, which say what is counted, have one way of counting in turn. */
  const isTested = (scene: number, measure: number) =>
    isShared || scene === 0 || measure === scene % Object.keys(measures).length
  const cases = Object.entries(scenes).flatMap(([name, scene], turn) =>
    Object.entries(measures)
      .filter((_, index) => isTested(turn, index))
      .map(([measure, limit]) => ({ measure, name, limit, scene })),
  )
  test.each(cases)(
    'R16 $measure for $name are limited for all nodes together',
    async ({ limit, scene: { match = {}, per = [], key: fields = {}, headers = {}, others = {} } }) => {
      const key = await scene().createKey(fields)
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
      const { nodes, isShared } = scene()
      const isExact = isShared || limit.window === 'month'
      expect(admitted).toBe(isExact ? allowed : nodes.length * Math.floor(allowed / nodes.length))
      const other = others.key ? await scene().createKey(others.key) : key
      const { headers: otherHeaders = headers, model = 'test/cent' } = others
      expect(await sendAll(other.secret, { headers: otherHeaders, model, count: 3 })).toEqual([200, 200, 200])
      await scene().manage(1, 'DELETE', `/limits/${id}`)
    },
  )

  test('R16 a limit that one node raises is raised on all of them', async () => {
    const key = await scene().createKey()
    const id = await createLimit({
      measure: 'requests',
      window: 'day',
      amount: 3,
      match: { key_hash: key.hash },
    })
    await waitForAllNodes(key)
    expect((await sendAll(key.secret, {})).filter((status) => status === 200)).toHaveLength(3)
    await scene().manage(2, 'PATCH', `/limits/${id}`, { amount: 9 })
    await waitForAllNodes(key)
    expect((await sendAll(key.secret, {})).filter((status) => status === 200)).toHaveLength(6)
  })
})

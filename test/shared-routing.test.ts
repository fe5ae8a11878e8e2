import { afterEach, expect, test } from 'bun:test'
import { question, similar } from './inference/semantic-cache-scene.ts'
import { buildSettings } from './inference/two-upstreams.ts'
import { describeOnThreeNodes, type SentRequest } from './support/three-nodes.ts'
import { waitUntil } from './support/wait-until.ts'

const buildAll = (first: string, second: string) =>
  buildSettings(first, second, 'semantic_cache: { model: sandbox/embedder }')

const modelOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { model: string }).model
const statusOf = async (response: Response): Promise<number> => {
  await response.text()
  return response.status
}

describeOnThreeNodes('routing', buildAll, (scene) => {
  const created: string[] = []
  afterEach(async () => {
    for (const path of created.splice(0)) await scene().nodes[2].call('DELETE', path)
  })

  async function create(path: string, body: object): Promise<string> {
    const { id } = await scene().manage(0, 'POST', path, body)
    created.push(`${path}/${id}`)
    return id
  }

  test('an alias with weights gives an end user the same model on every node', async () => {
    const targets = [
      { model: 'test/chat', weight: 50 },
      { model: 'test/cent', weight: 50 },
    ]
    const id = await create('/model-aliases', { name: 'support', targets })
    const { secret } = await scene().createKey()
    await scene().waitForAll(secret, { model: 'support' }, statusOf, 200)
    const models = new Set<string>()
    for (const user of ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal']) {
      const replies = scene().nodes.map((node) => scene().send(node, secret, { model: 'support', user }))
      const served = await Promise.all(replies.map(async (reply) => modelOf(await reply)))
      expect(new Set(served).size).toBe(1)
      models.add(served[0] ?? '')
    }
    expect([...models].toSorted()).toEqual(['test/cent', 'test/chat'])
    const all = [{ model: 'test/both-chat', weight: 1 }]
    await scene().manage(1, 'PATCH', `/model-aliases/${id}`, { targets: all })
    await scene().waitForAll(secret, { model: 'support', user: 'ada' }, modelOf, 'test/both-chat')
  })

  test('a rule that one node adds, changes or disables applies on every node', async () => {
    const { secret } = await scene().createKey()
    const request: SentRequest = { headers: { 'x-headgate-tags': 'team=search' }, model: 'test/cent' }
    const rule = { name: 'Search', when: `tags.team == 'search'`, then: { models: ['test/chat'] } }
    const id = await create('/routing-rules', rule)
    await scene().waitForAll(secret, request, modelOf, 'test/chat')
    await scene().manage(1, 'PATCH', `/routing-rules/${id}`, { then: { models: ['test/both-chat'] } })
    await scene().waitForAll(secret, request, modelOf, 'test/both-chat')
    await scene().manage(2, 'PATCH', `/routing-rules/${id}`, { enabled: false })
    await scene().waitForAll(secret, request, modelOf, 'test/cent')
  })

  test('an end user that one node blocks is rejected by every node until another unblocks', async () => {
    const { secret } = await scene().createKey()
    const request: SentRequest = { user: 'mallory' }
    await scene().waitForAll(secret, request, statusOf, 200)
    await scene().manage(0, 'PATCH', '/end-users/mallory', { blocked: true })
    await scene().waitForAll(secret, request, statusOf, 403)
    await scene().manage(1, 'PATCH', '/end-users/mallory', { blocked: false })
    await scene().waitForAll(secret, request, statusOf, 200)
  })

  test('tags that a key requires are required by every node', async () => {
    const { secret, hash } = await scene().createKey()
    await scene().waitForAll(secret, {}, statusOf, 200)
    await scene().manage(2, 'PATCH', `/keys/${hash}`, { tags: { required: ['project'] } })
    await scene().waitForAll(secret, {}, statusOf, 400)
    const tagged = { headers: { 'x-headgate-tags': 'project=apollo' } }
    await scene().waitForAll(secret, tagged, statusOf, 200)
  })

  test('a reply that one node has stored is served to similar prompts by the others', async () => {
    const { secret } = await scene().createKey()
    const headers = { 'x-service-cache': 'true', 'x-service-cache-mode': 'semantic' }
    const ask = async (node: 0 | 1 | 2, content: string) => {
      const messages = [{ role: 'user', content }]
      const response = await scene().send(scene().nodes[node], secret, { headers, messages })
      await response.text()
      return response.headers.get('x-service-cache-status')
    }
    expect(await ask(0, question)).toBe('MISS')
    const { db } = scene().nodes[0].gateway
    const entries = db.selectFrom('semantic_cache_entries').selectAll()
    await waitUntil(async () => (await entries.execute()).length === 1)
    expect(await ask(1, similar)).toBe('HIT')
    expect(await ask(2, similar)).toBe('HIT')
  })
})

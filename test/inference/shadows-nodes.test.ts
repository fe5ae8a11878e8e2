import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { isInShare } from '../../src/inference/shadow/watch.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { databaseKinds, type TestServer } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { startTwoNodes } from '../support/nodes.ts'
import { vendorReply } from '../support/replies.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { hasValkey, TestValkey } from '../support/valkey.ts'
import { waitUntil } from '../support/wait-until.ts'

const requestsPerNode = 20
const mirrorPrice = 0.01

function buildSettings(url: string): string {
  const model = (id: string, pricing: string) =>
    `  - id: test/${id}\n    name: ${id}\n    endpoints:\n      - { provider: one, upstream_model: vendor-model, pricing: ${pricing} }\n`
  return `providers:
  - { slug: one, name: one, base_url: "${url}", dialects: [chat], api_key: secret }
models:
${model('served', '{ prompt: "0.000001", completion: "0.000004" }')}${model('mirror', `{ prompt: "0", completion: "0", request: "${mirrorPrice}" }`)}`
}

describe.skipIf(!hasValkey || !databaseKinds.includes('postgres'))('shadows on two nodes', () => {
  let valkey: TestValkey
  let upstream: Upstream
  let nodes: [TestServer, TestServer]

  beforeAll(async () => {
    valkey = await TestValkey.start()
    upstream = await startUpstream()
    upstream.setDefault({ json: vendorReply('chat', 'text').body })
    nodes = await startTwoNodes({ settings: buildSettings(upstream.url) }, valkey.url)
    for (const { gateway } of nodes) gateway.node.liveNodes = 2
  })

  afterAll(async () => {
    await nodes[1].stop()
    await nodes[0].stop()
    await upstream.stop()
    await valkey.stop()
  })

  const knows = async ({ gateway: { accounts }, own }: TestServer, id: string) => {
    const key = await accounts.findKey(own.inferenceKey)
    const { shadows } = key ? await accounts.findContext(key) : { shadows: null }
    return shadows?.some((shadow) => shadow.id === id)
  }
  const create = async (body: object) => {
    const draft = { name: 'Shadow', target: { model: 'test/mirror' }, ...body }
    const { status, body: created } = await nodes[0].call('POST', '/shadows', { body: draft })
    expect(status).toBe(201)
    const { id } = created.data as { id: string }
    await waitUntil(async () => (await Promise.all(nodes.map((node) => knows(node, id)))).every(Boolean))
    return id
  }
  const sendToAll = async () => {
    const sent = nodes.flatMap(({ url, own }) =>
      Array.from({ length: requestsPerNode }, async () => {
        const response = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${own.inferenceKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'test/served', messages: [{ role: 'user', content: 'Hello' }] }),
        })
        expect(response.status).toBe(200)
        await response.text()
        return response.headers.get('x-generation-id') ?? ''
      }),
    )
    return Promise.all(sent)
  }
  const reportOf = async (id: string) => (await nodes[0].call('GET', `/shadows/${id}/report`)).body.data
  const comparedIds = async (id: string): Promise<string[]> =>
    (await nodes[0].call('GET', `/shadows/${id}/comparisons?limit=200`)).body.data.map(
      ({ original }: { original: { generation_id: string } }) => original.generation_id,
    )

  test('the share decides the same on both, by the id of the request', async () => {
    const id = await create({ share: 0.5, daily_usd: 100 })
    const ids = await sendToAll()
    const expected = ids.filter((one) => isInShare(id, one, 500_000)).toSorted()
    expect(expected.length).toBeGreaterThan(0)
    await waitUntil(async () => (await comparedIds(id)).length >= expected.length)
    for (const { gateway } of nodes) await gateway.mirrors.idle()
    expect((await comparedIds(id)).toSorted()).toEqual(expected)
    await nodes[0].call('DELETE', `/shadows/${id}`)
  })

  test('the budget of a day is one budget for both, and no hold stays', async () => {
    const id = await create({ share: 1, daily_usd: 3 * mirrorPrice })
    await sendToAll()
    await waitUntil(async () => {
      const { mirrored, skipped } = await reportOf(id)
      const skips = skipped.reduce((sum: number, one: { requests: number }) => sum + one.requests, 0)
      return mirrored + skips === 2 * requestsPerNode
    })
    const { mirrored, skipped } = await reportOf(id)
    expect(skipped).toEqual([{ reason: 'budget', requests: 2 * requestsPerNode - mirrored }])
    expect(mirrored).toBeGreaterThan(0)
    expect(mirrored).toBeLessThanOrEqual(3)
    const { db } = nodes[0].gateway
    expect(await requestHolds(db).selectAll().execute()).toEqual([])
    expect((await checkLedger(db)).findings.flatMap(({ violations }) => violations)).toEqual([])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds, type TestServer } from '../support/harness.ts'
import { startTwoNodes } from '../support/nodes.ts'
import { vendorReply } from '../support/replies.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { hasValkey, TestValkey } from '../support/valkey.ts'
import { waitUntil } from '../support/wait-until.ts'

const { body: reply } = vendorReply('chat', 'text')

function buildSettings(url: string): string {
  return `providers:
  - { slug: one, name: one, base_url: "${url}", dialects: [chat], api_key: secret }
models:
  - id: test/rated
    name: rated
    endpoints:
      - { provider: one, upstream_model: vendor-model, pricing: { prompt: "0.000001", completion: "0.000004" }, rate_limits: { requests_per_minute: 10 } }`
}

describe.skipIf(!hasValkey || !databaseKinds.includes('postgres'))('priorities on two nodes', () => {
  let valkey: TestValkey
  let upstream: Upstream
  let nodes: [TestServer, TestServer]

  beforeAll(async () => {
    valkey = await TestValkey.start()
    upstream = await startUpstream()
    upstream.setDefault({ json: reply })
    nodes = await startTwoNodes({ settings: buildSettings(upstream.url) }, valkey.url)
    nodes[0].clock.freeze('2028-03-15T12:00:00.000Z')
    for (const { gateway } of nodes) gateway.node.liveNodes = 2
  })

  afterAll(async () => {
    await nodes[1].stop()
    await nodes[0].stop()
    await upstream.stop()
    await valkey.stop()
  })

  async function createKey(): Promise<string> {
    const created = await nodes[0].call('POST', '/keys', { body: { name: 'key', max_priority: 'high' } })
    return created.body.key
  }

  const send = (node: TestServer, key: string, priority: string) =>
    fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-headgate-priority': priority,
      },
      body: JSON.stringify({ model: 'test/rated', messages: [{ role: 'user', content: 'Hello' }] }),
    })

  test('what one has sent counts for the other', async () => {
    const key = await createKey()
    for (let sent = 0; sent < 7; sent++) {
      const response = await send(sent % 2 === 0 ? nodes[0] : nodes[1], key, 'low')
      expect(response.status).toBe(200)
      await response.text()
    }
    const waits = nodes.map((node) => send(node, key, 'low'))
    await waitUntil(() => nodes.every(({ gateway }) => gateway.upstreams.rates.waiting === 1))
    expect((await send(nodes[1], key, 'high')).status).toBe(200)
    expect(upstream.requests).toHaveLength(8)
    nodes[0].clock.advance(120_000)
    nodes[0].timer.advance(250)
    for (const response of await Promise.all(waits)) expect(response.status).toBe(200)
    expect(upstream.requests).toHaveLength(10)
  })
})

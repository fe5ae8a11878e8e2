import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { closeScenarios, createScenario, type GatewayProcess } from './faults/gateways.ts'
import { databaseKinds } from './support/harness.ts'
import { startUpstream, type Upstream } from './support/upstream.ts'

const canary = 'canary-5ecret-value-0123456789'

let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream()
})
afterAll(async () => {
  await closeScenarios()
  await upstream.stop()
})

async function addModel(gateway: GatewayProcess, id: string, price: string): Promise<void> {
  const provider = { name: 'Local', base_url: `${upstream.url}/v1`, dialects: ['chat'], api_key: canary }
  await gateway.manage('PUT', '/catalogue/providers/local', provider)
  const pricing = { prompt: price, completion: price }
  const endpoints = [{ provider: 'local', upstream_model: 'fast', pricing }]
  await gateway.manage('PUT', `/catalogue/models/${id}`, { name: 'Fast', endpoints })
}

/** Undefined while the model does not exist. */
async function costOf(gateway: GatewayProcess, key: string, model: string): Promise<Cost> {
  const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  return ((await response.json()) as { usage?: { cost: number } }).usage?.cost
}

type Cost = number | undefined

async function waitForCost(read: () => Promise<Cost>, expected: Cost): Promise<void> {
  let last = await read()
  for (
    const deadline = Date.now() + 10_000;
    last !== expected && Date.now() < deadline;
    await Bun.sleep(50)
  ) {
    last = await read()
  }
  expect(last).toBe(expected)
}

// The upstream counts 87 tokens of input and 41 of output.
const tokens = 128

describe.each(databaseKinds)('catalog overrides (%s)', (kind) => {
  test('survive a kill and a stop, and no log has a secret', async () => {
    const scene = await createScenario(kind)
    const first = await scene.start()
    const key = await first.createKey()
    await addModel(first, 'acme/fast', '0.001')
    expect(await costOf(first, key, 'acme/fast')).toBe(tokens / 1000)
    await first.kill()
    const second = await scene.start()
    expect(await costOf(second, key, 'acme/fast')).toBe(tokens / 1000)
    expect(upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${canary}`)
    await second.stop()
    expect(first.log + second.log).not.toContain('5ecret')
  }, 60_000)

  if (kind === 'postgres') {
    test('R26 a change on one node takes effect on the other', async () => {
      const scene = await createScenario(kind)
      const [one, other] = [await scene.start('one'), await scene.start('other')]
      const key = await one.createKey()
      await addModel(one, 'acme/fast', '0.001')
      expect(await costOf(one, key, 'acme/fast')).toBe(tokens / 1000)
      await waitForCost(() => costOf(other, key, 'acme/fast'), tokens / 1000)
      const pricing = { prompt: '0.002', completion: '0.002' }
      await other.manage('PUT', '/catalogue/models/acme/fast/endpoints/local', { pricing })
      expect(await costOf(other, key, 'acme/fast')).toBe(tokens / 500)
      await waitForCost(() => costOf(one, key, 'acme/fast'), tokens / 500)
      await one.manage('DELETE', '/catalogue/models/acme/fast/endpoints/local')
      await one.manage('DELETE', '/catalogue/models/acme/fast')
      await waitForCost(() => costOf(other, key, 'acme/fast'), undefined)
    }, 60_000)
  }
})

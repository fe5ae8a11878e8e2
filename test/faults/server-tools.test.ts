import { afterAll, expect, test } from 'bun:test'
import { databaseKinds } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { replyWithCalls, replyWithText } from '../tools/replies.ts'
import { closeScenarios, createScenario } from './gateways.ts'
import { testTimeoutMs } from './options.ts'
import { settleOrphans } from './orphaned-holds.ts'
import { readLedgerSnapshot } from './reconciliation.ts'

let requested = Promise.withResolvers<void>()
/** A page that never arrives, and a search engine. */
const page = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: ({ method }) => {
    if (method === 'POST') return Response.json({ results: [] })
    requested.resolve()
    return new Promise<Response>(() => undefined)
  },
})

afterAll(async () => {
  await closeScenarios()
  await page.stop(true)
})

function buildSettings({ url }: Upstream): string {
  const pricing = { prompt: '0', completion: '0', request: '0.01' }
  const endpoints = [{ provider: 'vendor', upstream_model: 'vendor-model', pricing }]
  return JSON.stringify({
    egress: { allow_private: [`127.0.0.1:${page.port}`] },
    web: {
      engine: 'exa',
      engines: { exa: { api_key: 'exa-key', base_url: `http://127.0.0.1:${page.port}` } },
    },
    providers: [
      { slug: 'vendor', name: 'Vendor', base_url: url, dialects: ['chat'], api_key: 'vendor-secret' },
    ],
    models: [{ id: 'faults/cent', name: 'cent', endpoints }],
  })
}

/** After a crash: one request was charged, and no hold stays. */
async function expectCharge(scene: Awaited<ReturnType<typeof createScenario>>, nanos: bigint): Promise<void> {
  await settleOrphans(scene)
  await (await scene.start()).stop()
  const { generations, holds } = await readLedgerSnapshot(scene.databaseUrl)
  expect(holds).toEqual([])
  expect(generations.map(({ cost_nanos }) => BigInt(cost_nanos))).toEqual([nanos])
}

const hanging = { hang: true, endWithoutDone: true }

for (const kind of databaseKinds) {
  for (const stream of [false, true]) {
    test.each(['while a tool runs', 'in the second turn'] as const)(
      `R7 R2 I2 kill -9 %s: the first turn is charged and no hold stays (${kind}, stream ${stream})`,
      async (moment) => {
        requested = Promise.withResolvers()
        const vendor = await startUpstream()
        const scene = await createScenario(kind, undefined, buildSettings(vendor))
        const gateway = await scene.start()
        const key = await gateway.createKey()
        const isInTool = moment === 'while a tool runs'
        const name = isInTool ? 'web_fetch' : 'datetime'
        const call = replyWithCalls([name], stream, null, { url: `http://127.0.0.1:${page.port}/` })
        vendor.enqueue(call, { ...replyWithText('Slowly', stream), ...hanging })
        const replying = fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'faults/cent',
            stream,
            messages: [{ role: 'user', content: 'Hello' }],
            tools: [{ type: `service:${name}` }],
          }),
        })
          .then((response) => response.text())
          .catch(() => '')
        await (isInTool ? requested.promise : vendor.waitForRequests(2))
        await gateway.kill()
        await replying
        await expectCharge(scene, 10_000_000n)
        await vendor.stop()
      },
      testTimeoutMs,
    )
  }
}

test.each(databaseKinds)(
  'R7 R2 I2 kill -9 after a paid search: the search is charged and no hold stays (%s)',
  async (kind) => {
    const vendor = await startUpstream()
    const scene = await createScenario(kind, undefined, buildSettings(vendor))
    const gateway = await scene.start()
    const key = await gateway.createKey()
    vendor.enqueue({ ...replyWithText('Slowly'), ...hanging })
    const replying = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'faults/cent',
        messages: [{ role: 'user', content: 'Hello' }],
        plugins: [{ id: 'web' }],
      }),
    }).catch(() => null)
    await vendor.waitForRequests(1)
    await gateway.kill()
    await replying
    await expectCharge(scene, 7_000_000n)
    await vendor.stop()
  },
  testTimeoutMs,
)

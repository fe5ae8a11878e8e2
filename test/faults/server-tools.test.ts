import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type DatabaseKind, databaseKinds } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { replyWithCalls, replyWithText } from '../tools/replies.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { isLong, testTimeoutMs } from './options.ts'
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

const vendors: Upstream[] = []

afterAll(async () => {
  await closeScenarios()
  for (const vendor of vendors) await vendor.stop()
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

interface Scene {
  scenario: FaultScenario
  vendor: Upstream
  gateway: GatewayProcess
  key: string
  /** Charges of the requests so far. */
  charges: bigint[]
}

async function openScene(kind: DatabaseKind): Promise<Scene> {
  const vendor = await startUpstream()
  vendors.push(vendor)
  const scenario = await createScenario(kind, undefined, buildSettings(vendor))
  const gateway = await scenario.start()
  return { scenario, vendor, gateway, key: await gateway.createKey(), charges: [] }
}

/** Sends a request, kills the gateway when it has reached a moment, and starts the next. */
async function killDuring(scene: Scene, body: object, moment: () => Promise<unknown>): Promise<void> {
  const { scenario, gateway, key } = scene
  const replying = fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'faults/cent',
      messages: [{ role: 'user', content: 'Hello' }],
      ...body,
    }),
  })
    .then((response) => response.text())
    .catch(() => '')
  await moment()
  await gateway.kill()
  await replying
  await settleOrphans(scenario)
  scene.gateway = await scenario.start()
}

/** The killed request was charged this, no hold stays, and the ledger is sound. */
async function expectCharge({ scenario, gateway, charges }: Scene, nanos: bigint): Promise<void> {
  charges.push(nanos)
  // A request about money flushes the journal.
  await gateway.manage('GET', '/credits')
  const { generations, holds, findings } = await readLedgerSnapshot(scenario.databaseUrl)
  expect(holds).toEqual([])
  expect(findings.flatMap(({ violations }) => violations)).toEqual([])
  const costs = generations.map(({ cost_nanos }) => BigInt(cost_nanos))
  expect(costs.sort()).toEqual(charges.toSorted())
}

const hanging = { hang: true, endWithoutDone: true }
const moments = ['while a tool runs', 'in the second turn'] as const
/** The short form has each moment once on PostgreSQL. */
const isTested = (kind: DatabaseKind, moment: (typeof moments)[number], stream: boolean) =>
  isLong || kind === 'sqlite' || stream === (moment === 'in the second turn')

for (const kind of databaseKinds) {
  describe(`kill -9 (${kind})`, () => {
    let scene: Scene
    beforeAll(async () => {
      scene = await openScene(kind)
    }, testTimeoutMs)

    for (const moment of moments) {
      for (const stream of [false, true].filter((value) => isTested(kind, moment, value))) {
        test(
          `R7 R2 I2 ${moment}: the first turn is charged and no hold stays (stream ${stream})`,
          async () => {
            requested = Promise.withResolvers()
            const isInTool = moment === 'while a tool runs'
            const name = isInTool ? 'web_fetch' : 'datetime'
            const call = replyWithCalls([name], stream, null, { url: `http://127.0.0.1:${page.port}/` })
            const { vendor } = scene
            const turns = vendor.requests.length + 2
            vendor.enqueue(call)
            if (!isInTool) vendor.enqueue({ ...replyWithText('Slowly', stream), ...hanging })
            const tools = [{ type: `service:${name}` }]
            await killDuring(scene, { stream, tools }, () =>
              isInTool ? requested.promise : vendor.waitForRequests(turns),
            )
            await expectCharge(scene, 10_000_000n)
          },
          testTimeoutMs,
        )
      }
    }

    test(
      'R7 R2 I2 after a paid search: the search is charged and no hold stays',
      async () => {
        const { vendor } = scene
        const turns = vendor.requests.length + 1
        vendor.enqueue({ ...replyWithText('Slowly'), ...hanging })
        await killDuring(scene, { plugins: [{ id: 'web' }] }, () => vendor.waitForRequests(turns))
        await expectCharge(scene, 7_000_000n)
      },
      testTimeoutMs,
    )

    test(
      'R7 R2 I4 in the third turn after two paid searches: the record has all that was held',
      async () => {
        const { vendor } = scene
        const turns = vendor.requests.length + 3
        for (const query of ['one', 'two'])
          vendor.enqueue(replyWithCalls(['web_search'], false, null, { query }))
        vendor.enqueue({ ...replyWithText('Slowly'), ...hanging })
        const tools = [{ type: 'service:web_search' }]
        await killDuring(scene, { tools }, () => vendor.waitForRequests(turns))
        await expectCharge(scene, 34_000_000n)
      },
      testTimeoutMs,
    )
  })
}

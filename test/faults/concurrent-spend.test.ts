import { afterAll, describe, expect, test } from 'bun:test'
import { databaseKinds } from '../support/harness.ts'
import type { ClientOutcome } from './clients.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { createRandom, printTotals, testTimeoutMs } from './options.ts'

const requestCount = 200
/** Limit in USD, enough for `worth` requests at USD 0.01 each. */
const limit = 0.5
const worth = 50

afterAll(closeScenarios)

const random = createRandom()

/** All at once, or spread over some time; in turn on each of the gateways. */
function burst(
  scene: FaultScenario,
  gateways: GatewayProcess[],
  key: string,
  spreadMs = 0,
  tools: object[] = [],
): Promise<ClientOutcome[]> {
  const send = async (index: number) => {
    if (spreadMs > 0) await Bun.sleep(random() * spreadMs)
    const url = gateways[index % gateways.length]?.url ?? ''
    const paceMs = Math.floor(random() * 8)
    const spec = { model: 'faults/fixed', stream: index % 4 > 1, paceMs } as const
    return scene.clients.send(url, key, tools.length > 0 ? { ...spec, tools } : spec)
  }
  return Promise.all(Array.from({ length: requestCount }, (_, index) => send(index)))
}

function countsOf(outcomes: ClientOutcome[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of outcomes) counts[String(status)] = (counts[String(status)] ?? 0) + 1
  return counts
}

/** `times` counts the bursts on this installation; each has its own key. */
async function proveLimit(
  scene: FaultScenario,
  gateways: GatewayProcess[],
  key: string,
  times = 1,
): Promise<void> {
  const outcomes = await burst(scene, gateways, key)
  expect(countsOf(outcomes)).toEqual({ 200: worth, 402: requestCount - worth })
  expect(scene.vendor.records).toHaveLength(worth * times)
  const { completed } = await scene.reconcile()
  expect(completed).toBe(worth * times)
  const credits = await gateways[0]?.manage('GET', '/credits')
  expect(credits?.data.total_usage).toBe(limit * times)
}

for (const kind of databaseKinds) {
  test(
    `R1 I4 I5 I6 of ${requestCount} concurrent requests on a key worth ${worth}, ${worth} pass, and no other reaches the vendor (${kind})`,
    async () => {
      const scene = await createScenario(kind)
      const first = await scene.start()
      const keys = [await first.createKey(limit), await first.createKey(limit)] as const
      await proveLimit(scene, [first], keys[0])
      await first.stop()
      // The same in a process that has not cached the key.
      const second = await scene.start()
      await proveLimit(scene, [second], keys[1], 2)
      await second.stop()
      printTotals(`two bursts on ${kind}`, await scene.reconcile())
    },
    testTimeoutMs,
  )
}

/** Spread a little, so that the transactions of one process fall between those of the other. */
const keysAtOnce = 4
const spreadMs = 300

describe.if(databaseKinds.includes('postgres'))('two processes that share a database', () => {
  test(
    `R1 R22 I4 they let no more than ${worth} of ${requestCount} pass on each of ${keysAtOnce} keys`,
    async () => {
      const scene = await createScenario('postgres')
      const gateways = await Promise.all([scene.start('first'), scene.start('second')])
      const keys = await Promise.all(Array.from({ length: keysAtOnce }, () => gateways[0].createKey(limit)))
      const outcomes = await Promise.all(keys.map((key) => burst(scene, gateways, key, spreadMs)))
      expect(outcomes.map(countsOf)).toEqual(keys.map(() => ({ 200: worth, 402: requestCount - worth })))
      await Promise.all(gateways.map((gateway) => gateway.stop()))
      printTotals('bursts on two processes', await scene.reconcile())
    },
    testTimeoutMs,
  )

  test(
    `R1 R22 I4 requests with tools, which hold more than they cost, wait for both until ${worth} have passed`,
    async () => {
      const scene = await createScenario('postgres')
      const gateways = await Promise.all([scene.start('first'), scene.start('second')])
      const key = await gateways[0].createKey(limit)
      const outcomes = await burst(scene, gateways, key, 0, [{ type: 'service:datetime' }])
      expect(countsOf(outcomes)).toEqual({ 200: worth, 402: requestCount - worth })
      expect(scene.vendor.records).toHaveLength(worth)
      await Promise.all(gateways.map((gateway) => gateway.stop()))
      printTotals('a burst with tools on two processes', await scene.reconcile())
    },
    testTimeoutMs,
  )
})

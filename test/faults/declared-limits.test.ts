import { afterAll, expect, test } from 'bun:test'
import { databaseKinds } from '../support/harness.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { createRandom, isLong, testTimeoutMs } from './options.ts'

afterAll(closeScenarios)

const random = createRandom()
const clientCount = 8
const kills = isLong ? 40 : 3
/** What the limits allow: enough that every process is killed in the middle of it. */
const amount = isLong ? 100_000 : 900
const fixedCost = 0.01
/** A window that no midnight ends. */
const window = 'lifetime'

const limits = [
  { name: 'Requests', measure: 'requests', window, amount },
  { name: 'Requests of one key', measure: 'requests', window, amount: amount + 1, per: ['key'] },
  { name: 'Requests of the provider', measure: 'requests', window, amount, match: { providers: ['vendor'] } },
  { name: 'Tokens', measure: 'tokens', window, amount: 1_000_000_000 },
  { name: 'Input', measure: 'input_tokens', window: 'month', amount: 1_000_000_000, per: ['model'] },
  { name: 'Output', measure: 'output_tokens', window: 'month', amount: 1_000_000_000 },
  { name: 'Dollars', measure: 'usd', window, amount: (amount + 5) * fixedCost },
  { name: 'Dollars a month', measure: 'usd', window: 'month', amount: 1000, match: { models: ['faults/*'] } },
  { name: 'Dollars an hour', measure: 'usd', window: 'hour', amount: 1_000_000, per: ['end_user'] },
  { name: 'Concurrency', measure: 'concurrent_requests', amount: clientCount },
]

/** Sends requests until the process is gone, or a limit is reached. Returns whether one was. */
async function load({ clients }: FaultScenario, { url }: GatewayProcess, key: string): Promise<boolean> {
  const client = async () => {
    for (;;) {
      const { status } = await clients.send(url, key, { model: 'faults/fixed', stream: random() < 0.3 })
      if (status === null || status === 402 || status === 429) return status !== null
    }
  }
  const ends = await Promise.all(Array.from({ length: clientCount }, client))
  return ends.every(Boolean)
}

/** Resolves when that many requests were sent, or no more will be. */
async function reach({ vendor }: FaultScenario, count: number, loading: Promise<unknown>): Promise<void> {
  let isOver = false
  const over = loading.then(() => {
    isOver = true
  })
  while (vendor.records.length < count && !isOver) await Promise.race([over, Bun.sleep(10)])
}

for (const kind of databaseKinds) {
  test(
    `R1 ten limits of all measures are never exceeded while the process is killed ${kills} times (${kind})`,
    async () => {
      const scene = await createScenario(kind)
      let gateway = await scene.start()
      for (const limit of limits) {
        const response = await gateway.fetch('/limits', 'POST', limit)
        expect(response.status).toBe(201)
      }
      const key = await gateway.createKey(100_000)
      const perProcess = Math.floor(amount / (kills + 1))
      for (let round = 1; round <= kills; round++) {
        const loading = load(scene, gateway, key)
        await reach(scene, round * perProcess, loading)
        await gateway.kill()
        await loading
        gateway = await scene.start()
      }
      // A restored count may be a little too high, which rejects, and never too low.
      expect(await load(scene, gateway, key)).toBe(true)
      const sent = scene.vendor.records.length
      expect(sent).toBeLessThanOrEqual(amount)
      expect(sent).toBeGreaterThanOrEqual(amount - kills * clientCount)
      await scene.reconcile()
      await gateway.stop()
    },
    testTimeoutMs,
  )
}

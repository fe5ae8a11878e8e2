import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds } from '../support/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import type { ClientOutcome } from './clients.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'
import { settleOrphans } from './orphaned-holds.ts'
import { PrivatePostgres } from './private-postgres.ts'

const restarts = isLong ? 30 : 3
/** Replies between two restarts. */
const restartEvery = isLong ? 500 : 50
const awayMs = isLong ? 60_000 : 3000
/** I12: within this time service is back to normal. */
const recoveryMs = 15_000

describe.if(databaseKinds.includes('postgres'))('PostgreSQL away under load', () => {
  let postgres: PrivatePostgres | null = null

  beforeAll(async () => {
    postgres = await PrivatePostgres.start()
    if (!postgres) console.log('faults: PostgreSQL is not installed here: it is not stopped')
  }, testTimeoutMs)
  afterAll(async () => {
    await closeScenarios()
    postgres?.close()
  })

  test(
    `R7 R21 I8 I12 restarted ${restarts} times: no rejection, no loss, and service returns`,
    async () => {
      if (!postgres) return
      const scene = await createScenario('postgres', postgres.url)
      const gateway = await scene.start()
      const key = await gateway.createKey()
      const load = new Load(scene, gateway, key)
      for (let count = 0; count < restarts; count++) {
        await waitForReplies(scene, restartEvery)
        await postgres.stop()
        await postgres.start()
      }
      const backMs = await returned(scene, gateway, key)
      await load.stop()
      await gateway.stop()
      expect(refusals(scene.clients.log)).toEqual([])
      printTotals('PostgreSQL restarted', {
        restarts,
        'ms until service was back': backMs,
        ...(await scene.reconcile()),
      })
    },
    testTimeoutMs,
  )

  test(
    `R7 R21 R24 I8 I12 stopped for ${awayMs / 1000} s: replies in progress complete when it is back`,
    async () => {
      if (!postgres) return
      const scene = await createScenario('postgres', postgres.url)
      const gateway = await scene.start()
      const key = await gateway.createKey()
      const load = new Load(scene, gateway, key)
      await waitForReplies(scene, 10)
      // Long enough that all are in progress when the database stops.
      const underWay = Array.from({ length: 8 }, () =>
        scene.clients.send(gateway.url, key, { stream: true, tokens: 50, paceMs: 20 }),
      )
      await waitForReplies(scene, 10)
      await postgres.stop()
      await Bun.sleep(awayMs)
      await postgres.start()
      const backMs = await returned(scene, gateway, key)
      const ends = await Promise.all(underWay)
      await load.stop()
      await gateway.stop()
      expect(ends.map(({ status, ended, cost }) => [status, ended, cost])).toEqual(
        ends.map(() => [200, true, 0.0006]),
      )
      expect(refusals(scene.clients.log)).toEqual([])
      const logged = gateway.log.split('\n').filter((line) => line.includes('the ledger cannot be written'))
      expect(logged.length).toBeLessThanOrEqual(1 + awayMs / 30_000)
      printTotals('PostgreSQL stopped', {
        'seconds away': awayMs / 1000,
        'ms until service was back': backMs,
        ...(await scene.reconcile()),
      })
    },
    testTimeoutMs,
  )

  test.each(['itself', 'another node first'])(
    'R7 R2 I2 I5 killed while PostgreSQL is away: pending charges are written after the next start, settled by %s',
    async (settledBy) => {
      if (!postgres) return
      const scene = await createScenario('postgres', postgres.url)
      const gateway = await scene.start()
      const key = await gateway.createKey()
      const count = 6
      const underWay = Array.from({ length: count }, (_, index) =>
        scene.clients.send(
          gateway.url,
          key,
          index < 3
            ? { tokens: 30 + index, paceMs: 3000 }
            : { stream: true, tokens: 30 + index, paceMs: 100 },
        ),
      )
      while (scene.vendor.records.length < count) await Bun.sleep(20)
      await postgres.stop()
      await scene.vendor.idle()
      while (scene.countUnsent() < count) await Bun.sleep(20)
      await gateway.kill()
      await Promise.all(underWay)
      await postgres.start()
      if (settledBy !== 'itself') await settleOrphans(scene)
      const next = await scene.start()
      expect(scene.countUnsent()).toBe(0)
      const totals = await scene.reconcile()
      expect(totals).toMatchObject({ completed: count, interrupted: 0 })
      await next.stop()
      printTotals(`PostgreSQL away, and killed, settled by ${settledBy}`, totals)
    },
    testTimeoutMs,
  )
})

/** Clients that send request after request, with a pause after a 503. */
class Load {
  #running = true
  readonly #work: Promise<unknown>

  constructor(scene: FaultScenario, { url }: GatewayProcess, key: string) {
    const client = async (index: number) => {
      while (this.#running) {
        const { status } = await scene.clients.send(url, key, {
          stream: index % 3 > 0,
          tokens: 5 + index,
          paceMs: index,
        })
        if (status !== 200) await Bun.sleep(50)
      }
    }
    this.#work = Promise.all(Array.from({ length: 10 }, (_, index) => client(index)))
  }

  async stop(): Promise<void> {
    this.#running = false
    await this.#work
  }
}

/** Waits until this many more requests have succeeded. */
async function waitForReplies({ clients }: FaultScenario, count: number): Promise<void> {
  const countReplies = () => clients.log.filter(({ ended }) => ended).length
  const before = countReplies()
  await waitUntil(() => countReplies() >= before + count)
}

/** Measures the time until a new request succeeds. */
async function returned(scene: FaultScenario, { url }: GatewayProcess, key: string): Promise<number> {
  const since = performance.now()
  while (performance.now() - since < recoveryMs) {
    const { status } = await scene.clients.send(url, key)
    if (status === 200) return Math.round(performance.now() - since)
    await Bun.sleep(50)
  }
  throw new Error('service did not return')
}

/** Statuses an outage must not cause: anything but success and 503. */
function refusals(log: ClientOutcome[]): unknown[] {
  return log
    .filter(({ status, retryAfter }) => status !== 200 && (status !== 503 || retryAfter === null))
    .map(({ status, code, retryAfter }) => ({ status, code, retryAfter }))
}

import { afterAll, describe, expect, test } from 'bun:test'
import { closeDb, openDb } from '../../src/platform/db/db.ts'
import { databaseKinds } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { waitUntil } from '../support/wait-until.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { isLong, printTotals, testTimeoutMs } from './options.ts'

afterAll(closeScenarios)

/** The long form uses the default. */
const silentMs = isLong ? null : 2000
const missedWithinMs = isLong ? 180_000 : 20_000
const rounds = isLong ? 3 : 1

async function untilLogged(gateway: GatewayProcess, text: string, from: number): Promise<void> {
  const since = performance.now()
  while (!gateway.log.slice(from).includes(text)) {
    if (performance.now() - since > missedWithinMs) throw new Error(`no node logged "${text}"`)
    await Bun.sleep(50)
  }
}

async function countCheckpoints({ databaseUrl }: FaultScenario): Promise<number> {
  const db = openDb(databaseUrl)
  const rows = await requestHolds(db).select('id').where('checkpoint', 'is not', null).execute()
  await closeDb(db)
  return rows.length
}

describe.if(databaseKinds.includes('postgres'))('a node that is paused', () => {
  test(
    'R7 R2 I1 I2 I5 and counts as dead: its clients are charged the cost it reports to them later',
    async () => {
      const scene = await createScenario('postgres')
      scene.silentMs = silentMs
      const [living, silent] = await Promise.all([scene.start('living'), scene.start('silent')])
      const key = await living.createKey()
      const send = (spec: object) => scene.clients.send(silent.url, key, spec)
      for (let round = 0; round < rounds; round++) {
        const underWay = [
          ...Array.from({ length: 4 }, (_, index) => send({ stream: true, tokens: 60 + index, paceMs: 50 })),
          ...Array.from({ length: 4 }, (_, index) => send({ tokens: 20 + index, paceMs: 3000 })),
          send({ stream: true, tokens: 80, paceMs: 40, leaveAfter: 70 }),
        ]
        // With checkpoints of all streams, the other node charges something.
        await waitUntil(async () => (await countCheckpoints(scene)) === 5)
        const logged = living.log.length
        silent.pause()
        await untilLogged(living, 'orphaned holds settled', logged)
        silent.resume()
        const ends = await Promise.all(underWay)
        expect(ends.slice(0, 8).map(({ status, ended }) => [status, ended])).toEqual(
          ends.slice(0, 8).map(() => [200, true]),
        )
      }
      expect(silent.log).toContain('a late charge corrected what another node had settled')
      // It counts as alive again.
      expect((await send({ tokens: 5 })).status).toBe(200)
      const totals = await scene.reconcile()
      expect(totals.interrupted).toBe(0)
      await Promise.all([living.stop(), silent.stop()])
      printTotals('a node that is paused', { rounds, ...(await scene.reconcile()) })
    },
    testTimeoutMs,
  )
})

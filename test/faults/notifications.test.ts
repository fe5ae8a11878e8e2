import { afterAll, expect, test } from 'bun:test'
import { closeDb, openDb } from '../../src/platform/db/db.ts'
import { databaseKinds } from '../support/harness.ts'
import { startReceiver } from '../support/receiver.ts'
import { closeScenarios, createScenario, type FaultScenario } from './gateways.ts'
import { testTimeoutMs } from './options.ts'

/** A receiver that does not answer until the test says so. */
let answer = Promise.withResolvers<void>()
let arrived = Promise.withResolvers<void>()
const receiver = startReceiver(async () => {
  arrived.resolve()
  await answer.promise
  return new Response(null, { status: 200 })
})
afterAll(async () => {
  answer.resolve()
  await closeScenarios()
  await receiver.stop()
})

const settings = `egress: { allow_private: ["${new URL(receiver.origin).host}"] }`

for (const kind of databaseKinds) {
  test(
    `R7 R39 kill -9 before and while a notification is sent loses nothing; it is repeated with its id (${kind})`,
    async () => {
      receiver.requests.length = 0
      ;[answer, arrived] = [Promise.withResolvers(), Promise.withResolvers()]
      const scene = await createScenario(kind, undefined, settings)
      const preparing = await scene.start()
      const rule = {
        kind: 'low_balance',
        threshold: 1_000_000,
        channels: { webhook: { url: receiver.origin } },
      }
      const created = await preparing.manage('POST', '/notifications/rules', rule)
      expect(created.data.kind).toBe('low_balance')
      await preparing.kill()

      // Killed when the notification is stored, and thus before it is sent or while it is.
      await endWaiting(scene)
      const recording = await scene.start()
      await waitForDelivery(scene, ({ state }) => state === 'pending')
      await recording.kill()

      await endWaiting(scene)
      const sending = await scene.start()
      await arrived.promise
      await sending.kill()
      const interrupted = receiver.requests.length
      expect(await readDeliveries(scene)).toMatchObject([{ state: 'pending' }])

      await endWaiting(scene)
      answer.resolve()
      const last = await scene.start()
      await waitForDelivery(scene, ({ state }) => state === 'delivered')
      await last.stop()
      expect(receiver.requests).toHaveLength(interrupted + 1)
      expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)

      // What was accepted is not sent again.
      await endWaiting(scene)
      await (await scene.start()).stop()
      expect(receiver.requests).toHaveLength(interrupted + 1)
      expect(await readDeliveries(scene)).toHaveLength(1)
    },
    testTimeoutMs,
  )
}

/** Ends the leases of the process that was killed, as if they had run out. */
async function endWaiting(scene: FaultScenario): Promise<void> {
  const db = openDb(scene.databaseUrl)
  await db.updateTable('instance').set({ value: '' }).where('name', '=', 'notifications_turn').execute()
  const past = '2020-01-01T00:00:00.000Z'
  const leased = db.updateTable('notification_deliveries').where('lease_until', 'is not', null)
  await leased.set({ lease_until: past }).execute()
  await closeDb(db)
}

async function readDeliveries(scene: FaultScenario) {
  const db = openDb(scene.databaseUrl)
  try {
    return await db.selectFrom('notification_deliveries').selectAll().execute()
  } finally {
    await closeDb(db)
  }
}

type Delivery = Awaited<ReturnType<typeof readDeliveries>>[number]

async function waitForDelivery(scene: FaultScenario, matches: (row: Delivery) => boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await Bun.sleep(20))
    if ((await readDeliveries(scene)).some(matches)) return
  throw new Error('no such delivery')
}

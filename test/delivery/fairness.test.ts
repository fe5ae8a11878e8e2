import { beforeEach, expect, test } from 'bun:test'
import { newState } from '../../src/delivery/destination-states.ts'
import { getDestination } from '../../src/delivery/destinations/all.ts'
import { encryptConfig, originOf } from '../../src/delivery/destinations/config.ts'
import { runDeliveries } from '../../src/delivery/worker.ts'
import { newUuid } from '../../src/platform/crypto/ids.ts'
import { describeOnEachDatabase, type TestServer } from '../support/harness.ts'
import {
  buildEgressSettings,
  chat,
  clearOutbox,
  createWebhook,
  deliver,
  receivePlainEvents,
} from './support.ts'

const receiver = receivePlainEvents()

/** Creates more webhooks than a workspace may have. */
async function createWebhooks(server: TestServer, paths: string[]): Promise<void> {
  const { db, vault } = server.gateway
  const first = await createWebhook(server, receiver.url(paths[0]))
  const row = await db
    .selectFrom('destinations')
    .selectAll()
    .where('id', '=', first)
    .executeTakeFirstOrThrow()
  const kind = getDestination(row.type)
  for (const path of paths.slice(1)) {
    const id = newUuid()
    const config = { url: receiver.url(path), method: 'POST' }
    const columns = { ...encryptConfig(vault, kind, id, config), secrets_origin: originOf(kind, config) }
    await db
      .insertInto('destinations')
      .values({ ...row, ...columns, id })
      .execute()
  }
}

const paths = Array.from({ length: 50 }, (_, index) => `/d${index}`)

describeOnEachDatabase(
  'many destinations',
  (server) => {
    beforeEach(async () => {
      await clearOutbox(server())
      receiver.reset()
    })

    async function start(count: number): Promise<string[]> {
      const ids: string[] = []
      for (let index = 0; index < count; index++) ids.push(await chat(server(), `event ${index}`))
      await server().gateway.ledger.flush()
      await runDeliveries(server().gateway)
      return ids
    }

    test('R39 one that does not respond changes nothing for 49 others', async () => {
      await createWebhooks(server(), paths)
      const dead = Promise.withResolvers<Response>()
      receiver.respond = ({ path }) =>
        path === paths[0] ? dead.promise : new Response(null, { status: 200 })
      const ids = await start(3)
      // The others are done while the first request to the dead one is in flight.
      const isDone = () => paths.slice(1).every((path) => receiver.ids(path).length === ids.length)
      while (!isDone()) await Bun.sleep(5)
      for (const path of paths) expect(receiver.ids(path)).toEqual(ids)
      const { db } = server().gateway
      const queued = await db.selectFrom('outbox_deliveries').select('destination_id').execute()
      expect(new Set(queued.map(({ destination_id }) => destination_id)).size).toBeGreaterThanOrEqual(1)
      dead.resolve(new Response(null, { status: 200 }))
      await server().gateway.delivery.tasks.idle()
      expect(await db.selectFrom('outbox_deliveries').select('event_id').execute()).toEqual([])
    })

    test('R39 49 that do not respond do not delay the one that does', async () => {
      await createWebhooks(server(), paths)
      const dead = Promise.withResolvers<Response>()
      receiver.respond = ({ path }) =>
        path === paths[49] ? new Response(null, { status: 200 }) : dead.promise.then(() => new Response(null))
      const ids = await start(3)
      while (receiver.ids(paths[49]).length < ids.length) await Bun.sleep(5)
      expect(receiver.batches.filter(({ path }) => path === paths[49])).toHaveLength(1)
      for (const path of paths.slice(0, 49))
        expect(receiver.batches.filter((batch) => batch.path === path).length).toBeLessThanOrEqual(1)
      dead.resolve(new Response(null, { status: 200 }))
      await server().gateway.delivery.tasks.idle()
    })

    test('R39 more failing ones than slots, none of which responds, do not delay another', async () => {
      const many = Array.from({ length: 70 }, (_, index) => `/m${index}`)
      await createWebhooks(server(), many)
      const { db, delivery } = server().gateway
      const rows = await db.selectFrom('destinations').select(['id', 'config']).execute()
      const states = rows.map(({ id, config }) => {
        const isHealthy = config.includes('/m69"')
        // The one that works was served last.
        const changes = isHealthy ? { served_at: '2026-01-01T00:00:00.000Z' } : { failures: 3 }
        return { ...newState, ...changes, destination_id: id }
      })
      await db.insertInto('destination_states').values(states).execute()
      const dead = Promise.withResolvers<void>()
      receiver.respond = async ({ path }) => {
        if (path !== '/m69') await dead.promise
        return new Response(null, { status: 200 })
      }
      const ids = await start(2)
      await runDeliveries(server().gateway)
      expect(delivery.tasks.free).toBeGreaterThanOrEqual(delivery.tasks.max / 2 - 1)
      while (receiver.ids('/m69').length < ids.length) await Bun.sleep(5)
      dead.resolve()
      await delivery.tasks.idle()
      for (let round = 0; round < 4; round++) await deliver(server())
      for (const path of many) expect(receiver.ids(path)).toEqual(ids)
    })

    test('R39 more destinations than slots: all of them are served', async () => {
      const many = Array.from({ length: 70 }, (_, index) => `/m${index}`)
      await createWebhooks(server(), many)
      const ids = await start(2)
      for (let round = 0; round < 4; round++) await deliver(server())
      for (const path of many) expect(receiver.ids(path)).toEqual(ids)
    })
  },
  { settings: buildEgressSettings(receiver) },
)

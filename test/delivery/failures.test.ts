import { beforeEach, expect, test } from 'bun:test'
import { trimQueues } from '../../src/delivery/maintenance.ts'
import { runDeliveries } from '../../src/delivery/worker.ts'
import { ClusterNode } from '../../src/ledger/recovery.ts'
import { TaskPool } from '../../src/platform/concurrency/task-pool.ts'
import { describeOnEachDatabase } from '../support/harness.ts'
import {
  buildEgressSettings,
  chat,
  clearOutbox,
  createWebhook,
  deliver,
  receivePlainEvents,
  useListExporter,
} from './support.ts'

const receiver = receivePlainEvents()

const fiveMinutes = 300_000

describeOnEachDatabase(
  'a destination that fails',
  (server) => {
    beforeEach(async () => {
      server().clock.release()
      await clearOutbox(server())
      receiver.reset()
    })

    const statusOf = async (id: string) =>
      (await server().call('GET', `/observability/destinations/${id}/status`)).body.data

    async function chatTimes(count: number): Promise<string[]> {
      const ids: string[] = []
      for (let index = 0; index < count; index++) ids.push(await chat(server(), `event ${index}`))
      return ids
    }

    test('429: nothing is sent until Retry-After is over', async () => {
      const id = await createWebhook(server(), receiver.url())
      const [event] = await chatTimes(1)
      receiver.respond = () => new Response(null, { status: 429, headers: { 'retry-after': '120' } })
      await deliver(server())
      expect(await statusOf(id)).toMatchObject({
        state: 'failing',
        queued: 1,
        delivered: 0,
        last_error: 'The destination returned status 429.',
      })
      receiver.reset()
      server().clock.advance(115_000)
      await deliver(server())
      expect(receiver.ids()).toEqual([])
      server().clock.advance(10_000)
      await deliver(server())
      expect(receiver.ids()).toEqual([event ?? ''])
      expect(await statusOf(id)).toMatchObject({ state: 'active', queued: 0, delivered: 1, retry_at: null })
    })

    test.each([500, 503, 401, 403, 404, 408, 301])('%d: the batch is retried as a whole', async (status) => {
      const id = await createWebhook(server(), receiver.url())
      const events = await chatTimes(3)
      receiver.respond = () => new Response(null, { status, headers: { location: receiver.url('/other') } })
      for (let round = 0; round < 3; round++) {
        await deliver(server())
        server().clock.advance(fiveMinutes)
      }
      expect(receiver.batches).toHaveLength(3)
      expect(await statusOf(id)).toMatchObject({ state: 'failing', queued: 3, failed: 0, dropped: 0 })
      receiver.reset()
      await deliver(server())
      expect(receiver.ids()).toEqual(events)
    })

    test('410 disables the destination, which then queues nothing, until it is enabled again', async () => {
      const id = await createWebhook(server(), receiver.url())
      await chatTimes(2)
      receiver.respond = () => new Response(null, { status: 410 })
      await deliver(server())
      await deliver(server())
      await chatTimes(1)
      await deliver(server())
      expect(receiver.batches).toHaveLength(1)
      const path = `/observability/destinations/${id}`
      expect((await server().call('GET', path)).body.data.enabled).toBe(false)
      expect(await statusOf(id)).toMatchObject({
        state: 'disabled',
        disabled_reason: 'The destination returned status 410.',
        queued: 0,
        dropped: 2,
      })
      receiver.reset()
      await server().call('PATCH', path, { body: { enabled: true } })
      expect(await statusOf(id)).toMatchObject({ state: 'active', disabled_reason: null })
      const events = await chatTimes(1)
      await deliver(server())
      expect(receiver.ids()).toEqual(events)
    })

    test('410 of an address that was changed meanwhile says nothing about the new one', async () => {
      const id = await createWebhook(server(), receiver.url('/old'))
      const events = await chatTimes(1)
      receiver.respond = async ({ path }) => {
        if (path !== '/old') return new Response(null, { status: 200 })
        const body = { config: { url: receiver.url() } }
        await server().call('PATCH', `/observability/destinations/${id}`, { body })
        return new Response(null, { status: 410 })
      }
      await deliver(server())
      await deliver(server())
      expect(receiver.ids()).toEqual(events)
      expect(await statusOf(id)).toMatchObject({ state: 'active', dropped: 0 })
    })

    test.each([400, 413, 422])(
      '%d: the event that causes it fails, the others are delivered',
      async (status) => {
        const id = await createWebhook(server(), receiver.url())
        const events = await chatTimes(9)
        const poison = events[4] ?? ''
        receiver.respond = ({ events: received }) =>
          new Response(null, { status: received.some((event) => event.id === poison) ? status : 200 })
        await deliver(server())
        const accepted = receiver.batches.filter(
          ({ events: received }) => !received.some((event) => event.id === poison),
        )
        const delivered = accepted.flatMap((batch) => batch.events.map((event) => event.id))
        expect(delivered).toEqual(events.filter((event) => event !== poison))
        expect(receiver.batches.length).toBeLessThan(9)
        expect(await statusOf(id)).toMatchObject({ state: 'active', queued: 0, delivered: 8, failed: 1 })
        const path = `/observability/destinations/${id}`
        const failures = (await server().call('GET', `${path}/failures`)).body
        expect(failures).toMatchObject({
          data: [{ event_id: poison, error: `The destination returned status ${status}.`, attempts: 1 }],
          total_count: 1,
        })
        receiver.reset()
        await server().call('POST', `${path}/redeliver`, { body: { event_ids: ['gen-other'] } })
        await deliver(server())
        expect(receiver.batches).toHaveLength(0)
        expect((await server().call('POST', `${path}/redeliver`)).body.data).toEqual({ requeued: 1 })
        await deliver(server())
        expect(receiver.ids()).toEqual([poison])
        expect(await statusOf(id)).toMatchObject({ failed: 0, delivered: 9 })
      },
    )

    test('what a disabled destination had rejected is kept until it is enabled', async () => {
      const id = await createWebhook(server(), receiver.url())
      const events = await chatTimes(1)
      receiver.respond = () => new Response(null, { status: 400 })
      await deliver(server())
      receiver.reset()
      const path = `/observability/destinations/${id}`
      await server().call('PATCH', path, { body: { enabled: false } })
      expect((await server().call('POST', `${path}/redeliver`)).status).toBe(409)
      await deliver(server())
      await server().call('PATCH', path, { body: { enabled: true } })
      expect((await server().call('POST', `${path}/redeliver`)).body.data).toEqual({ requeued: 1 })
      await deliver(server())
      expect(receiver.ids()).toEqual(events)
    })

    test('a rejection in a response with status 200 fails its event, without secrets in the message', async () => {
      const id = await createWebhook(server(), receiver.url(), {
        config: { headers: { 'x-token': 'canary-of-the-header' } },
      })
      const [event] = await chatTimes(1)
      receiver.respond = ({ headers }) => Response.json({ rejected: headers.get('x-token') })
      await deliver(server())
      const { body } = await server().call('GET', `/observability/destinations/${id}/failures`)
      expect(body.data).toMatchObject([{ event_id: event, error: '{"rejected":"********"}' }])
    })

    test('a batch that is accepted in part is not sent again: the destination has the rest', async () => {
      const id = await createWebhook(server(), receiver.url())
      const events = await chatTimes(3)
      receiver.respond = () => Response.json({ rejected: 1 })
      await deliver(server())
      await deliver(server())
      expect(receiver.ids().sort()).toEqual(events.toSorted())
      expect(await statusOf(id)).toMatchObject({
        state: 'active',
        delivered: 3,
        failed: 0,
        last_error: '{"rejected":1}',
      })
    })

    test('a destination that rejects everything is failing: it is not called again at once', async () => {
      const id = await createWebhook(server(), receiver.url())
      await chatTimes(2)
      receiver.respond = () => new Response(null, { status: 400 })
      await deliver(server())
      expect(await statusOf(id)).toMatchObject({ state: 'failing', failed: 2, queued: 0 })
      const sent = receiver.batches.length
      await chatTimes(1)
      await deliver(server())
      expect(receiver.batches).toHaveLength(sent)
    })

    test('an event that cannot be read does not keep the others back', async () => {
      const id = await createWebhook(server(), receiver.url())
      const [first = '', ...others] = await chatTimes(3)
      const { db, ledger } = server().gateway
      await ledger.flush()
      await db.updateTable('outbox_events').set({ sealed_event: 'v1.AAAA' }).where('id', '=', first).execute()
      await deliver(server())
      expect(receiver.ids()).toEqual(others)
      expect(await statusOf(id)).toMatchObject({ state: 'active', queued: 0, delivered: 2 })
    })

    test('a response that cannot be read counts by its status', async () => {
      await createWebhook(server(), receiver.url())
      const events = await chatTimes(1)
      changeExporter({
        findRejection: () => {
          throw new Error('unreadable')
        },
      })
      await deliver(server())
      await deliver(server())
      changeExporter({})
      expect(receiver.ids()).toEqual(events)
    })

    test('S5 an address that is not public is never connected to', async () => {
      const id = await createWebhook(server(), receiver.url())
      await chatTimes(1)
      const { gateway } = server()
      const { settings } = gateway
      gateway.settings = { ...settings, egress: { allow_private: [] } }
      await deliver(server())
      gateway.settings = settings
      expect(receiver.batches).toEqual([])
      expect(await statusOf(id)).toMatchObject({ state: 'failing', queued: 1 })
    })

    test('S6 secrets that are held back: nothing is sent, and the state says why', async () => {
      const id = await createWebhook(server(), receiver.url(), {
        config: { headers: { 'x-token': 'first' } },
      })
      const path = `/observability/destinations/${id}`
      const config = { url: `http://localhost:${receiver.address.split(':')[1]}/in` }
      const { gateway } = server()
      const { settings } = gateway
      const allowed = [...settings.egress.allow_private, `localhost:${receiver.address.split(':')[1]}`]
      gateway.settings = { ...settings, egress: { allow_private: allowed } }
      await server().call('PATCH', path, { body: { config } })
      const events = await chatTimes(1)
      await deliver(server())
      expect(receiver.batches).toEqual([])
      expect(await statusOf(id)).toMatchObject({
        state: 'held_back',
        queued: 1,
        last_error: expect.stringContaining('enter all'),
      })
      await server().call('PATCH', path, { body: { config: { url: receiver.url() } } })
      await deliver(server())
      gateway.settings = settings
      expect(receiver.ids()).toEqual(events)
      expect(receiver.batches[0]?.headers.get('x-token')).toBe('first')
    })

    test('pause keeps the events, resume sends them', async () => {
      const id = await createWebhook(server(), receiver.url())
      const path = `/observability/destinations/${id}`
      expect((await server().call('POST', `${path}/pause`)).body.data.state).toBe('paused')
      const events = await chatTimes(2)
      await deliver(server())
      expect(receiver.batches).toEqual([])
      expect(await statusOf(id)).toMatchObject({ state: 'paused', queued: 2 })
      expect((await server().call('POST', `${path}/resume`)).body.data.state).toBe('active')
      await deliver(server())
      expect(receiver.ids()).toEqual(events)
    })

    test('S13 a queue is bounded by events, bytes and age: the oldest are dropped and counted', async () => {
      const id = await createWebhook(server(), receiver.url())
      await server().call('POST', `/observability/destinations/${id}/pause`)
      const events = await chatTimes(5)
      await server().gateway.ledger.flush()
      const { gateway } = server()
      const { settings } = gateway
      const trim = async (bounds: Partial<typeof settings.observability>) => {
        gateway.settings = { ...settings, observability: { ...settings.observability, ...bounds } }
        await trimQueues(gateway)
        gateway.settings = settings
        return gateway.db
          .selectFrom('outbox_deliveries')
          .select(['event_id', 'size'])
          .orderBy('event_id')
          .execute()
      }
      const left = await trim({ queue_events: 3 })
      expect(left.map(({ event_id }) => event_id)).toEqual(events.slice(2))
      const size = left.reduce((sum, row) => sum + row.size, 0)
      expect((await trim({ queue_bytes: size - 1 })).map(({ event_id }) => event_id)).toEqual(events.slice(3))
      expect(await statusOf(id)).toMatchObject({ queued: 2, dropped: 3 })
      const metrics = await gateway.metrics.render()
      expect(metrics.body).toMatch(/headgate_delivery_queue_events\{type="webhook"\} 2/)
      server().clock.advance(73 * 3_600_000)
      expect(await trim({})).toEqual([])
      expect(await gateway.db.selectFrom('outbox_events').select('id').execute()).toEqual([])
    })

    test('R39 two nodes deliver each event once', async () => {
      await createWebhook(server(), receiver.url())
      await createWebhook(server(), receiver.url('/second'))
      const events = await chatTimes(12)
      await server().gateway.ledger.flush()
      changeExporter({ maxEvents: 2 })
      const nodes = [1, 2].map(() => ({
        ...server().gateway,
        node: new ClusterNode(false),
        delivery: { ...server().gateway.delivery, tasks: new TaskPool(8) },
      }))
      receiver.respond = async () => {
        await Promise.all(nodes.map(runDeliveries))
        return new Response(null, { status: 200 })
      }
      await Promise.all(nodes.map(runDeliveries))
      await Promise.all(nodes.map(({ delivery }) => delivery.tasks.idle()))
      changeExporter({})
      expect(receiver.ids().toSorted()).toEqual(events.toSorted())
      expect(receiver.ids('/second').toSorted()).toEqual(events.toSorted())
    })

    test('R39 the lease of a node that ended is taken over, and not before', async () => {
      const id = await createWebhook(server(), receiver.url())
      const events = await chatTimes(1)
      const { db, clock } = server().gateway
      await server().call('POST', `/observability/destinations/${id}/resume`)
      await db
        .updateTable('destination_states')
        .set({ lease_owner: 'node_gone', lease_until: new Date(clock.now() + 60_000).toISOString() })
        .execute()
      await deliver(server())
      expect(receiver.ids()).toEqual([])
      server().clock.advance(61_000)
      await deliver(server())
      expect(receiver.ids()).toEqual(events)
    })

    test.each([
      ['between two batches', 200],
      ['while a batch is divided', 400],
    ])('R39 a node that has lost its lease %s sends nothing more', async (_, status) => {
      await createWebhook(server(), receiver.url())
      await chatTimes(20)
      changeExporter({ maxEvents: 2 })
      const until = new Date(server().gateway.clock.now() + 60_000).toISOString()
      receiver.respond = async () => {
        await server()
          .gateway.db.updateTable('destination_states')
          .set({ lease_owner: 'node_other', lease_until: until })
          .execute()
        return new Response(null, { status })
      }
      await deliver(server())
      changeExporter({})
      // The requests of one round.
      expect(receiver.batches).toHaveLength(8)
    })

    test('R39 a stop finishes the requests in flight and begins no other', async () => {
      await createWebhook(server(), receiver.url())
      const events = await chatTimes(12)
      await server().gateway.ledger.flush()
      changeExporter({ maxEvents: 1 })
      const node = { ...server().gateway, delivery: { ...server().gateway.delivery, tasks: new TaskPool(8) } }
      let closing: Promise<void> | undefined
      receiver.respond = () => {
        closing ??= node.delivery.tasks.close()
        return new Response(null, { status: 200 })
      }
      await runDeliveries(node)
      await node.delivery.tasks.idle()
      await closing
      changeExporter({})
      const first = receiver.ids()
      expect(first.length).toBeGreaterThan(0)
      expect(first.length).toBeLessThan(events.length)
      await deliver(server())
      expect(receiver.ids().toSorted()).toEqual(events.toSorted())
    })
  },
  { settings: buildEgressSettings(receiver) },
)

/** Changes the exporter until the next call. */
function changeExporter(changes: Parameters<typeof useListExporter>[0]): void {
  useListExporter(changes)
}

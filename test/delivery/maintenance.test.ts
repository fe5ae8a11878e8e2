import { afterAll, beforeEach, expect, test } from 'bun:test'
import { sweepOutbox, trimQueues } from '../../src/delivery/maintenance.ts'
import { measureQueue } from '../../src/delivery/store.ts'
import { describeOnEachDatabase } from '../support/harness.ts'
import {
  buildEgressSettings,
  chat,
  clearOutbox,
  createWebhook,
  deliver,
  Receiver,
  useListExporter,
} from './support.ts'

const receiver = new Receiver()
const restoreExporter = useListExporter()
afterAll(async () => {
  restoreExporter()
  await receiver.stop()
})

describeOnEachDatabase(
  'maintenance of the outbox',
  (server) => {
    beforeEach(async () => {
      server().clock.release()
      await clearOutbox(server())
      receiver.reset()
    })

    const nameEvent = (index: number) => `gen-${String(index).padStart(6, '0')}`
    const timeOf = (index: number) => new Date(Date.UTC(2026, 0, 1) + index).toISOString()

    async function insertDeliveries(destinationId: string, count: number): Promise<void> {
      const rows = Array.from({ length: count }, (_, index) => ({
        destination_id: destinationId,
        event_id: nameEvent(index),
        created_at: timeOf(index),
        size: 10,
        shared_parts: 0,
        state: index % 3 === 0 ? ('failed' as const) : ('pending' as const),
        attempts: 0,
        sealed_error: null,
      }))
      for (let at = 0; at < count; at += 1000)
        await server()
          .gateway.db.insertInto('outbox_deliveries')
          .values(rows.slice(at, at + 1000))
          .execute()
    }

    async function insertEvents(count: number): Promise<void> {
      const { organization, workspace } = server().own
      const rows = Array.from({ length: count }, (_, index) => ({
        id: nameEvent(index),
        organization_id: organization.id,
        workspace_id: workspace.id,
        sealed_event: '',
        size: 10,
        created_at: timeOf(index),
      }))
      for (let at = 0; at < count; at += 1000)
        await server()
          .gateway.db.insertInto('outbox_events')
          .values(rows.slice(at, at + 1000))
          .execute()
    }

    const listEvents = async () => {
      const rows = await server().gateway.db.selectFrom('outbox_events').select('id').execute()
      return rows.map(({ id }) => id)
    }

    test('S13 a queue of many pages is measured exactly', async () => {
      const { db } = server().gateway
      await insertDeliveries('many', 12_000)
      await insertDeliveries('other', 3)
      const bytes = (count: number) => count * 10
      expect(await measureQueue(db, 'many', 'pending')).toEqual({
        count: 8000,
        bytes: bytes(8000),
        since: timeOf(1),
      })
      expect(await measureQueue(db, 'many', 'failed')).toEqual({
        count: 4000,
        bytes: bytes(4000),
        since: timeOf(0),
      })
      expect(await measureQueue(db, 'none', 'pending')).toEqual({ count: 0, bytes: 0, since: null })
    })

    test('S13 events that no destination waits for are deleted, and no others', async () => {
      await insertEvents(2500)
      await insertDeliveries('one', 1200)
      const young = await chatQueued()
      await server().gateway.db.deleteFrom('outbox_deliveries').where('event_id', '=', young).execute()
      await sweepOutbox(server().gateway)
      const expected = Array.from({ length: 1200 }, (_, index) => nameEvent(index))
      expect((await listEvents()).toSorted()).toEqual([...expected, young].toSorted())
    })

    async function chatQueued(): Promise<string> {
      await createWebhook(server(), receiver.url())
      const id = await chat(server(), 'Hello')
      await server().gateway.ledger.flush()
      return id
    }

    test('S12 what a deleted destination had rejected is deleted too', async () => {
      const id = await createWebhook(server(), receiver.url())
      await chat(server(), 'Hello')
      receiver.respond = () => new Response(null, { status: 400 })
      await deliver(server())
      await trimQueues(server().gateway)
      expect(await listEvents()).toHaveLength(1)
      await server().call('DELETE', `/observability/destinations/${id}`)
      await trimQueues(server().gateway)
      expect(await listEvents()).toEqual([])
    })
  },
  { settings: buildEgressSettings(receiver) },
)

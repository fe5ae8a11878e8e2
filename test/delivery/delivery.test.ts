import { afterAll, beforeEach, expect, test } from 'bun:test'
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
  'delivery of events',
  (server) => {
    beforeEach(async () => {
      await clearOutbox(server())
      receiver.reset()
    })

    test('E17 a settled generation is delivered once, and nothing of it remains', async () => {
      await createWebhook(server(), receiver.url())
      const id = await chat(server(), 'Hello there')
      await deliver(server())
      await deliver(server())
      expect(receiver.ids()).toEqual([id])
      expect(receiver.events()[0]).toMatchObject({
        status: 'completed',
        model: 'sandbox/echo',
        provider: 'sandbox',
        operation: 'chat',
        input: { messages: [{ role: 'user', content: 'Hello there' }] },
        output: { completion: expect.stringContaining('Hello there') },
        cost: null,
        identity: null,
        context: null,
      })
      const { db } = server().gateway
      expect(await db.selectFrom('outbox_events').selectAll().execute()).toEqual([])
      expect(await db.selectFrom('outbox_deliveries').selectAll().execute()).toEqual([])
    })
  },
  { settings: buildEgressSettings(receiver) },
)

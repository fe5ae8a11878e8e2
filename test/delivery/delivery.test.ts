import { beforeEach, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../support/harness.ts'
import {
  buildEgressSettings,
  chat,
  clearOutbox,
  createWebhook,
  deliver,
  receivePlainEvents,
} from './support.ts'

const receiver = receivePlainEvents()

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

    test('an event has the whole trace of its request, as the client named it', async () => {
      await createWebhook(server(), receiver.url())
      const trace = {
        trace_id: 'conversation 7',
        trace_name: 'Support',
        generation_name: 'Answer',
        tier: 'gold',
      }
      for (const stream of [false, true])
        await chat(server(), 'Hello', { stream, trace, user: 'u'.repeat(200) })
      await deliver(server())
      const [first, second] = receiver.events()
      for (const event of [first, second]) {
        const { spans, spanId } = event?.trace ?? { spans: [], spanId: '' }
        expect(spans.map(({ name }) => name)).toEqual([
          ...['parse', 'guard', 'route', 'admit', 'attempt sandbox', 'reply'],
        ])
        for (const span of spans) expect(span.parentSpanId).toBe(spanId)
        expect(event?.trace).toMatchObject({
          parentSpanId: null,
          traceName: 'Support',
          generationName: 'Answer',
          metadata: { tier: 'gold' },
        })
        expect(event?.externalUser).toHaveLength(128)
      }
      expect(first?.trace.traceId).toMatch(/^[0-9a-f]{32}$/)
      expect(second?.trace.traceId).toBe(first?.trace.traceId ?? '')
      expect(second?.trace.spanId).not.toBe(first?.trace.spanId ?? '')
    })

    test('a new event wakes the workers of this process, a request without destinations does not', async () => {
      const { gateway } = server()
      const { delivery } = gateway
      const signal = { wakes: 0, wake: () => void signal.wakes++ }
      Object.assign(gateway, { delivery: { ...delivery, signal } })
      await chat(server(), 'for no destination')
      expect(signal.wakes).toBe(0)
      await createWebhook(server(), receiver.url())
      await chat(server(), 'for one destination')
      expect(signal.wakes).toBe(1)
      Object.assign(gateway, { delivery })
    })
  },
  { settings: buildEgressSettings(receiver) },
)

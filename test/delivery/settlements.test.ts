import { beforeEach, expect, test } from 'bun:test'
import { buildDetachedStatements } from '../../src/inference/settle/records.ts'
import { ClusterNode } from '../../src/ledger/recovery.ts'
import { createVideo, runToEnd } from '../media/video-jobs.ts'
import { describeOnEachDatabase, type TestServer } from '../support/harness.ts'
import { createOrphanedHold } from '../support/orphaned-holds.ts'
import {
  buildEgressSettings,
  chat,
  clearOutbox,
  createWebhook,
  deliver,
  receivePlainEvents,
} from './support.ts'

const receiver = receivePlainEvents()

function embed(server: TestServer, input: string, headers: Record<string, string> = {}) {
  return server.call('POST', '/embeddings', {
    key: server.own.inferenceKey,
    body: { model: 'sandbox/embedder', input },
    headers,
  })
}

const cached = { 'x-service-cache': 'true' }

describeOnEachDatabase(
  'every way to settle a generation',
  (server) => {
    beforeEach(async () => {
      await clearOutbox(server())
      receiver.reset()
      await createWebhook(server(), receiver.url())
    })

    /** The events of this request, which is settled in one way. */
    async function settleAndDeliver(send: () => Promise<unknown>) {
      await send()
      await deliver(server())
      const events = receiver.events()
      const { db } = server().gateway
      const generations = await db.selectFrom('generations').select('id').execute()
      for (const { id } of events) expect(generations.map((row) => row.id)).toContain(id)
      return events
    }

    test('R39 a whole reply is one event', async () => {
      const events = await settleAndDeliver(() => chat(server(), 'Hi', { temperature: 0.5 }))
      expect(events).toMatchObject([
        { streamed: false, parameters: { temperature: 0.5 }, status: 'completed' },
      ])
    })

    test('R39 a streamed reply is one event, with its first token', async () => {
      const events = await settleAndDeliver(() => chat(server(), 'Hi there', { stream: true }))
      expect(events).toMatchObject([
        { streamed: true, output: { completion: expect.stringContaining('Hi') } },
      ])
      const [event] = events
      expect(event?.firstTokenAt).toBeGreaterThanOrEqual(event?.startedAt ?? Number.NaN)
      expect(event?.endedAt).toBeGreaterThanOrEqual(event?.firstTokenAt ?? Number.NaN)
    })

    test('R39 a reply that failed at the provider is one event with its error', async () => {
      const events = await settleAndDeliver(() =>
        chat(server(), 'sandbox:error=500 Hi').catch(() => undefined),
      )
      expect(events).toMatchObject([
        {
          status: 'failed',
          error: { code: expect.stringContaining('upstream'), message: expect.any(String) },
        },
      ])
    })

    test('R39 a request that reached no provider has no generation, and is no event', async () => {
      const events = await settleAndDeliver(() =>
        chat(server(), 'Hi', { model: 'sandbox/none' }).catch(() => undefined),
      )
      expect(events).toEqual([])
    })

    test('R39 a cached reply is an event of its own, at no cost', async () => {
      const send = () =>
        server().call('POST', '/chat/completions', {
          key: server().own.inferenceKey,
          body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'cache me' }] },
          headers: cached,
        })
      await send()
      const events = await settleAndDeliver(send)
      expect(new Set(events.map(({ id }) => id)).size).toBe(2)
      expect(events[1]).toMatchObject({
        usage: { promptTokens: 0, completionTokens: 0 },
        output: { completion: expect.stringContaining('cache me') },
      })
    })

    test('R39 a media reply is one event, and so is its cached one', async () => {
      await embed(server(), 'words', cached)
      const events = await settleAndDeliver(() => embed(server(), 'words', cached))
      expect(events).toMatchObject([
        { operation: 'embeddings', output: null },
        { operation: 'embeddings', usage: { promptTokens: 0 } },
      ])
    })

    test('R39 a video job is one event, when it ends', async () => {
      const { body } = await createVideo(server(), { prompt: 'sandbox:slow=0 A fox' })
      await deliver(server())
      expect(receiver.events()).toEqual([])
      await runToEnd(server(), body.id)
      const events = await settleAndDeliver(async () => undefined)
      expect(events).toMatchObject([
        { operation: 'video', status: 'completed', input: { prompt: 'sandbox:slow=0 A fox' } },
      ])
      server().clock.release()
    })

    test('R39 R7 a generation of a dead process is one event without content', async () => {
      const { gateway } = server()
      const { id } = await createOrphanedHold(server(), 7)
      const ledger = {
        isOpen: () => false,
        settle: (op: Parameters<typeof gateway.ledger.settle>[0]) => gateway.ledger.settle(op),
      }
      const events = await settleAndDeliver(() =>
        new ClusterNode(true).settleOrphans(gateway.db, ledger, new Date().toISOString(), (settled) =>
          buildDetachedStatements(gateway, settled, { input: null, errorMessage: 'It ended.' }),
        ),
      )
      expect(events).toMatchObject([
        {
          id,
          status: 'failed',
          error: { code: 'interrupted', message: 'It ended.' },
          input: null,
          output: null,
        },
      ])
    })

    test('R37 events reach the destinations of their own workspace only', async () => {
      const foreign = server().foreign
      await createWebhook(server(), receiver.url('/foreign'), {}, foreign)
      const second = (
        await server().call('POST', '/workspaces', { body: { name: 'Two', slug: `two-${Date.now()}` } })
      ).body.data
      await createWebhook(server(), receiver.url('/second'), { workspace_id: second.id })
      const id = await chat(server(), 'Hi')
      await deliver(server())
      expect(receiver.ids()).toEqual([id])
      expect(receiver.events('/foreign')).toEqual([])
      expect(receiver.events('/second')).toEqual([])
    })

    test('E17 nothing is queued while the workspace does not broadcast', async () => {
      const path = `/workspaces/${server().own.workspace.id}`
      await server().call('PATCH', path, { body: { is_observability_broadcast_enabled: false } })
      await chat(server(), 'Hi')
      await server().gateway.ledger.flush()
      expect(await server().gateway.db.selectFrom('outbox_events').selectAll().execute()).toEqual([])
    })
  },
  { settings: buildEgressSettings(receiver) },
)

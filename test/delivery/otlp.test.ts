import { afterAll, beforeEach, expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { listMadeUpNames } from '../support/conventions.ts'
import { describeOnSqlite } from '../support/harness.ts'
import { decodeExports, hasOtlpDecoder, listSpans, readAttributes } from '../support/otlp.ts'
import { chat, clearOutbox, createWebhook, deliver } from './support.ts'

interface Received {
  headers: Headers
  bytes: Uint8Array
}

const received: Received[] = []
let response: () => Response = () => new Response()
const receiver = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: async (request) => {
    received.push({ headers: request.headers, bytes: new Uint8Array(await request.arrayBuffer()) })
    return response()
  },
})
afterAll(() => receiver.stop(true))

const settings = `egress: { allow_private: ["${receiver.url.host}"] }\n`
const url = new URL('/in', receiver.url).href
const signingSecret = `whsec_${btoa('a key of thirty-two bytes, or so')}`

describeOnSqlite(
  'delivery as OTLP',
  (server) => {
    beforeEach(async () => {
      await clearOutbox(server())
      received.length = 0
      response = () => new Response()
    })

    test('E17 a webhook receives every generation as a signed span', async () => {
      await createWebhook(server(), url, { config: { signingSecret }, broadcast_generation_cost: true })
      const body = { session_id: 'session-1', user: 'user-1', temperature: 0.5, max_tokens: 50 }
      const ids = [await chat(server(), 'One', body), await chat(server(), 'Two', body)]
      await deliver(server())
      expect(received.map(({ headers }) => headers.get('webhook-id')).sort()).toEqual(ids.sort())
      for (const { headers, bytes } of received) {
        const id = headers.get('webhook-id') ?? ''
        const sentAt = new Date(Number(headers.get('webhook-timestamp')) * 1000)
        const signature = new Webhook(signingSecret).sign(id, sentAt, Buffer.from(bytes).toString())
        expect(headers.get('webhook-signature')).toBe(signature)
      }
    })

    test.skipIf(!hasOtlpDecoder)('E17 a collector receives the spans of a batch', async () => {
      await server().call('PATCH', `/workspaces/${server().own.workspace.id}`, {
        body: { is_observability_broadcast_enabled: true },
      })
      const created = await server().call('POST', '/observability/destinations', {
        body: {
          type: 'otel-collector',
          name: 'Collector',
          config: { endpoint: url, protocol: 'protobuf' },
          broadcast_generation_cost: true,
        },
      })
      expect(created.status).toBe(201)
      const options = {
        session_id: 'session-1',
        user: 'user-1',
        temperature: 0.5,
        max_tokens: 50,
        stop: 'END',
      }
      const id = await chat(server(), 'Hello there', options)
      await chat(server(), 'Bye', options)
      await deliver(server())
      const [batch] = received
      expect(received).toHaveLength(1)
      const [request] = await decodeExports([{ contentType: 'application/x-protobuf', bytes: batch!.bytes }])
      const spans = listSpans(request!).map(readAttributes)
      const attributes = spans.find((span) => span['gen_ai.response.id'] === id)
      expect(attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'sandbox',
        'gen_ai.request.model': 'sandbox/echo',
        'gen_ai.request.temperature': 0.5,
        'gen_ai.request.max_tokens': 50,
        'gen_ai.request.stop_sequences': ['END'],
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.cost': expect.any(Number),
        'session.id': 'session-1',
        'user.id': 'user-1',
        'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Hello there"}]}]',
        'gen_ai.output.messages': expect.stringContaining('Hello there'),
      })
      expect(attributes).not.toHaveProperty(['headgate.api_key.name'])
      for (const span of spans) expect(listMadeUpNames(span)).toEqual([])
    })

    test('a partial success is a rejection, which is not repeated', async () => {
      response = () => Response.json({ partialSuccess: { rejectedSpans: '1', errorMessage: 'too old' } })
      await createWebhook(server(), url)
      await chat(server(), 'Hello')
      await deliver(server())
      expect(received).toHaveLength(1)
      const rows = await server().gateway.db.selectFrom('outbox_deliveries').select('state').execute()
      expect(rows).toEqual([{ state: 'failed' }])
    })
  },
  { settings },
)

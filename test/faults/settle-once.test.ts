import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { checkLedger } from '../../src/ledger/check.ts'
import { databaseKinds, resetRouting, startTestServer, type TestServer } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { startUpstream, type Upstream, type UpstreamResponse } from '../support/upstream.ts'

const identity = { id: 'chatcmpl-1', created: 1, model: 'm' }
const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
const message = { role: 'assistant', content: 'Hello you!' }

const chunk = (rest: object) => `data: ${JSON.stringify({ ...identity, ...rest })}\n\n`
const words = chunk({ choices: [{ index: 0, delta: { content: 'Hello you!' }, finish_reason: null }] })
const finish = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
const frames = [words, words, finish, chunk({ choices: [], usage }), 'data: [DONE]\n\n']

const whole = { json: { ...identity, choices: [{ index: 0, message, finish_reason: 'stop' }], usage } }

/** The ways a request can end other than success: for a whole reply, and for a stream. */
const ends: Record<string, [UpstreamResponse, UpstreamResponse]> = {
  'all is well': [whole, { sse: frames }],
  'the vendor refuses it': [
    { status: 400, json: { error: { message: 'no' } } },
    { status: 400, text: 'no' },
  ],
  'the key is not accepted': [
    { status: 401, text: '' },
    { status: 403, text: '<html>' },
  ],
  'the vendor has too much to do': [
    { status: 429, text: '' },
    { status: 429, text: '' },
  ],
  'the vendor fails': [
    { status: 500, text: 'oops' },
    { status: 503, text: 'oops' },
  ],
  'the vendor sends us elsewhere': [
    { status: 302, text: '' },
    { status: 307, text: '' },
  ],
  'nothing comes': [{ text: '' }, { sse: [] }],
  'what comes is no JSON': [{ text: 'Hello' }, { sse: ['data: Hello\n\n'] }],
  'what comes is no reply': [{ json: { a: 1 } }, { sse: [chunk({ a: 1 })] }],
  'the connection breaks before the response': [{ breakBeforeHead: true }, { breakBeforeHead: true }],
  'the connection breaks after the head': [
    { ...whole, breakAfterBytes: 0 },
    { sse: frames, breakAfterBytes: 0 },
  ],
  'the connection breaks in the middle': [
    { ...whole, breakAfterBytes: 90 },
    { sse: frames, breakAfterBytes: 200 },
  ],
  'the connection is closed in the middle': [
    { ...whole, breakAfterBytes: 90, breakWith: 'close' },
    { sse: frames, breakAfterBytes: 200, breakWith: 'close' },
  ],
  'the end is missing': [{ text: '{"choices": [' }, { sse: frames.slice(0, 2) }],
  'an error comes in the middle': [
    { json: { error: { message: 'oops', code: 500 } } },
    { sse: [words, `data: {"error":{"message":"oops"}}\n\n`] },
  ],
  'the reply ends with an error': [
    { json: { ...whole.json, choices: [{ index: 0, message, finish_reason: 'error' }] } },
    { sse: [words, chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'error' }], usage })] },
  ],
  'the vendor takes too long to begin': [
    { ...whole, waitMs: 60_000 },
    { sse: frames, waitMs: 60_000 },
  ],
  'the vendor falls silent': [
    { ...whole, splitBytes: 60, delayMs: 60_000 },
    { sse: [words], hang: true },
  ],
}

const timeouts = new Set(['the vendor takes too long to begin', 'the vendor falls silent'])

for (const kind of databaseKinds) {
  describe(`R2 I1 I2 however a request ends, it is settled once and no hold remains (${kind})`, () => {
    let server: TestServer
    let vendor: Upstream

    beforeAll(async () => {
      vendor = await startUpstream()
      const provider = { slug: 'vendor', name: 'Vendor', base_url: vendor.url, dialects: ['chat'] }
      const pricing = { prompt: '0.000002', completion: '0.000008', request: '0.0001' }
      const endpoints = [{ provider: 'vendor', upstream_model: 'm', pricing }]
      const settings = {
        limits: { first_byte: 10, idle: 10, whole_reply: 10, heartbeat: 5 },
        providers: [provider],
        models: [{ id: 'faults/ends', name: 'Ends', context_length: 4000, endpoints }],
      }
      server = await startTestServer(kind, { settings: JSON.stringify(settings) })
    })
    beforeEach(() => resetRouting(server))
    afterAll(async () => {
      await server.stop()
      await vendor.stop()
    })

    const send = async (stream: boolean, signal?: AbortSignal) => {
      const response = await fetch(`${server.url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.own.inferenceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'faults/ends',
          stream,
          max_tokens: 100,
          messages: [{ role: 'user', content: 'Hello' }],
        }),
        ...(signal && { signal }),
      })
      await response.text()
      return response.headers.get('x-generation-id')
    }
    const rows = () => server.gateway.db.selectFrom('generations').selectAll().execute()

    const expectSettled = async (count: number) => {
      const { db } = server.gateway
      for (const deadline = Date.now() + 5000; Date.now() < deadline; await Bun.sleep(10)) {
        const holds = await requestHolds(db).select('id').execute()
        if (holds.length === 0 && (await rows()).length === count) break
      }
      expect(await rows()).toHaveLength(count)
      expect(vendor.requests).toHaveLength(count)
      const { findings, figures } = await checkLedger(db)
      expect(findings.filter(({ violations }) => violations.length > 0)).toEqual([])
      expect(figures).toMatchObject({ holds: 0, held_nanos: 0n })
    }

    let count = 0

    test.each(Object.keys(ends))('%s', async (name) => {
      vendor.enqueue(...(ends[name] ?? []))
      for (const stream of [false, true]) {
        const sent = send(stream)
        const id = await (timeouts.has(name) ? server.timer.passUntil(sent) : sent)
        await expectSettled(++count)
        const row = (await rows()).find((one) => one.id === id)
        expect(row?.status).toBe(name === 'all is well' ? 'completed' : 'failed')
        expect(row!.cost_nanos <= row!.hold_nanos).toBe(true)
        if (row?.status === 'failed') expect(row.cost_nanos).toBe(0n)
      }
    })

    test.each([false, true])(
      'the client disconnects before the response begins (stream: %p)',
      async (stream) => {
        vendor.enqueue({ hang: true })
        const leaving = new AbortController()
        const request = send(stream, leaving.signal).catch(() => null)
        await vendor.waitForRequests(++count)
        leaving.abort()
        await request
        await expectSettled(count)
      },
    )
  })
}

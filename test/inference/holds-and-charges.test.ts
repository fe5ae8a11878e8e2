import { Database } from 'bun:sqlite'
import { beforeEach, expect, test } from 'bun:test'
import { vendorReply } from '../support/replies.ts'
import { waitUntil } from '../support/wait-until.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  openBench,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

describeWithUpstreams(
  'charges',
  (bench) => {
    beforeEach(() => clearGenerations(bench()))

    const heldFor = async (format: 'chat' | 'messages', body: Record<string, unknown>) => {
      const response = await sendRequest(bench(), format, body)
      await response.text()
      const [row] = (await waitForGenerations(bench(), 1)).slice(-1)
      return row?.hold_nanos ?? 0n
    }

    test('R3 the hold includes every field that is passed through, known or unknown', async () => {
      const plain = await heldFor('chat', { model: 'test/chat', max_tokens: 10 })
      const filler = 'x'.repeat(10_000)
      const bodies = [
        { documents: [filler] },
        { messages: [{ role: 'user', content: 'Hello', extra: filler }] },
        { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello', note: filler }] }] },
      ]
      for (const body of bodies) {
        // One token per byte, at a millionth of a dollar.
        expect(await heldFor('chat', { model: 'test/chat', max_tokens: 10, ...body })).toBeGreaterThan(
          plain + 9_900_000n,
        )
      }
    })

    test.each([
      ['chat', { web_search_options: {} }],
      ['chat', { search_parameters: { mode: 'on' } }],
      ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
      ['chat', { enable_search: true }],
      [
        'messages',
        { messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'file_1' }] }] },
      ],
    ] as const)(
      'R3 a request that lets the provider read more input holds the maximum: %s %j',
      async (format, body) => {
        const model = `test/${format}`
        const plain = await heldFor(format, { model, max_tokens: 10 })
        expect(await heldFor(format, { model, max_tokens: 10, ...body })).toBeGreaterThan(plain * 1000n)
      },
    )

    test('R3 a tool that the client runs is held for like any other', async () => {
      const tools = [{ type: 'bash_20250124', name: 'bash' }]
      const held = await heldFor('messages', { model: 'test/messages', max_tokens: 10, tools })
      expect(held).toBeLessThan(10_000_000n)
    })

    test('R6 a stream that exceeds the total time is charged for what was delivered', async () => {
      const { frames } = vendorReply('chat', 'text')
      bench().first.enqueue({ sse: frames.slice(0, 4), hang: true })
      const text = await (await sendRequest(bench(), 'chat', { model: 'test/chat', stream: true })).text()
      expect(text).toContain('"finish_reason":"error"')
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({
        status: 'failed',
        usage_source: 'estimated',
        error_code: 'upstream_timeout',
      })
      expect(row?.cost_nanos).toBeGreaterThan(0n)
    })

    test('streams that exceed the total time do not affect the health of their provider', async () => {
      const { frames } = vendorReply('chat', 'text')
      const { first, server } = bench()
      const talking = [...frames.slice(0, 3), ...Array(60).fill(frames[2])]
      first.enqueue(...Array(6).fill({ sse: talking, delayMs: 40 }))
      const one = async () =>
        (await sendRequest(bench(), 'chat', { model: 'test/chat', stream: true })).text()
      const texts = await Promise.all(Array.from({ length: 6 }, one))
      expect(texts.every((text) => text.includes('upstream_timeout'))).toBe(true)
      const health = server.gateway.routing.health.find('test/chat one-chat')
      expect(health?.isEjected(server.clock.now())).toBe(false)
    })

    test('R5 a whole reply that is billed anyway is drained when the client disconnects, and charged', async () => {
      bench().first.enqueue({ json: vendorReply('chat', 'text').body, waitMs: 200 })
      const leaving = new AbortController()
      const pending = sendRequest(bench(), 'chat', { model: 'test/stubborn' }, { signal: leaving.signal })
      await bench().first.waitForRequests(1)
      leaving.abort()
      await pending.catch(() => undefined)
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'cancelled', usage_source: 'reported' })
      expect(row?.cost_nanos).toBeGreaterThan(0n)
    })

    test('the record has the request id of the response', async () => {
      const response = await sendRequest(
        bench(),
        'chat',
        { model: 'test/chat' },
        { headers: { 'x-request-id': 'mine-1' } },
      )
      expect(response.headers.get('x-request-id')).toBe('mine-1')
      const [row] = await waitForGenerations(bench(), 1)
      expect(row?.request_id).toBe('mine-1')
    })

    test('requests in flight are counted in the metrics, until their response has ended', async () => {
      const readGauge = async () => {
        const metrics = await (await fetch(`${bench().server.url}/metrics`)).text()
        return Number(/^headgate_http_requests_in_flight (\d+)$/m.exec(metrics)?.[1])
      }
      await waitUntil(async () => (await readGauge()) === 1)
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      bench().first.enqueue({ json: vendorReply('chat', 'text').body, waitFor: released })
      const reply = sendRequest(bench(), 'chat', { model: 'test/chat' })
      await waitUntil(async () => (await readGauge()) === 2)
      release()
      await (await reply).text()
      await waitUntil(async () => (await readGauge()) === 1)
    })

    test('R10 the cost a provider reports is stored next to the computed one, and counted in the metrics', async () => {
      const body = structuredClone(vendorReply('chat', 'text').body) as { usage: Record<string, unknown> }
      body.usage.cost = 0.123
      bench().first.enqueue({ json: body })
      const { usage } = await readJson(sendRequest(bench(), 'chat', { model: 'test/chat' }))
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ reported_cost_nanos: 123_000_000n, cost_nanos: row?.upstream_cost_nanos })
      expect(usage.cost).toBe(Number(row?.cost_nanos) / 1e9)
      const metrics = await (await fetch(`${bench().server.url}/metrics`)).text()
      expect(metrics).toMatch(/headgate_cost_reported_usd_total\{provider="one-chat"\} 0\.123/)
    })
  },
  'limits: { heartbeat: 5, total: 1 }',
)

test('R24 a database that cannot be written blocks no inference, only requests that read it', async () => {
  const opened = await openBench('sqlite')
  const bench = () => opened
  const { databaseUrl } = opened.server.gateway.config
  bench().first.enqueue({ sse: vendorReply('chat', 'text').frames, delayMs: 20 })
  const stream = await sendRequest(bench(), 'chat', { model: 'test/chat', stream: true })
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  const other = new Database(databaseUrl)
  other.run('begin immediate')
  expect((await sendRequest(bench(), 'chat', { model: 'test/chat' })).status).toBe(200)
  while (!(await reader.read()).done);
  let isRead = false
  const reading = waitForGenerations(bench(), 2).finally(() => {
    isRead = true
  })
  await Bun.sleep(20)
  expect(isRead).toBe(false)
  other.run('rollback')
  other.close()
  expect(await reading).toHaveLength(2)
  await opened.server.stop()
  await Promise.all([opened.first.stop(), opened.second.stop()])
})

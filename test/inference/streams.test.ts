import { beforeEach, describe, expect, test } from 'bun:test'
import { authenticate } from '../../src/access/authenticate.ts'
import { formats } from '../../src/inference/request/formats.ts'
import { handleInference } from '../../src/inference/serve.ts'
import { resetRouting, selectCases } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'
import type { UpstreamResponse } from '../support/upstream.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  describeWithUpstreamsOnSqlite,
  formatNames,
  lastRequest,
  readJson,
  readPassingTime,
  sendPassingTime,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

const limits = 'limits: { heartbeat: 3, idle: 10, first_byte: 20 }'

/** The clean end of a stream in each format. */
const goodEnds = {
  chat: 'data: [DONE]',
  messages: 'event: message_stop',
  responses: 'event: response.completed',
}
const badEnds = {
  chat: '"finish_reason":"error"',
  messages: 'event: error',
  responses: 'event: response.failed',
}

describeWithUpstreams(
  'a stream',
  (bench, kind) => {
    beforeEach(() => clearGenerations(bench()))

    for (const format of selectCases(kind, formatNames)) {
      describe(format, () => {
        for (const upstream of ['chat', 'messages', 'responses', 'gemini'] as const) {
          test(`over a ${upstream} upstream ends cleanly and is charged once`, async () => {
            const response = await sendRequest(bench(), format, { model: `test/${upstream}`, stream: true })
            const text = await response.text()
            expect(response.headers.get('content-type')).toStartWith('text/event-stream')
            expect(text).toContain(goodEnds[format])
            const [row, ...more] = await waitForGenerations(bench(), 1)
            expect(more).toEqual([])
            expect(row).toMatchObject({ status: 'completed', usage_source: 'reported', streamed: 1 })
            expect(text).toContain(`"cost":${Number(row?.cost_nanos) / 1e9}`)
          })

          test(`I7 over a ${upstream} upstream that breaks off has an integer status`, async () => {
            const { frames } = vendorReply(upstream, 'text')
            const bytes = Math.floor(frames.join('').length * 0.75)
            const replied = Promise.withResolvers<void>()
            bench().first.enqueue({ sse: frames, breakAfterBytes: bytes, breakWhen: replied.promise })
            const response = await sendRequest(bench(), format, { model: `test/${upstream}`, stream: true })
            replied.resolve()
            const data = [...(await response.text()).matchAll(/^data: (\{.*\})$/gm)].map(([, json]) =>
              JSON.parse(json ?? ''),
            )
            expect(data.at(-1).error).toMatchObject({ code: 502, message: expect.any(String) })
          })

          test(`R33 I7 over a ${upstream} upstream that breaks off ends with an error, never cleanly`, async () => {
            const { frames } = vendorReply(upstream, 'text')
            const bytes = frames.join('').length
            for (const share of [0.5, 0.75, 0.9]) {
              bench().first.enqueue({ sse: frames, breakAfterBytes: Math.floor(bytes * share) })
              const response = await sendRequest(bench(), format, { model: `test/${upstream}`, stream: true })
              const text = await response.text()
              expect(text).not.toContain(goodEnds[format])
              if (response.status === 200) expect(text).toContain(badEnds[format])
              else expect(response.status).toBe(502)
            }
          })
        }

        test('a quiet upstream: heartbeats, then the reply', async () => {
          const quiet = Promise.withResolvers<void>()
          bench().first.enqueue({ sse: vendorReply('chat', 'text').frames, waitFor: quiet.promise })
          const response = await sendPassingTime(bench(), format, { model: 'test/chat', stream: true })
          quiet.resolve()
          expect(response.status).toBe(200)
          const text = await response.text()
          expect(text).toMatch(/^(: HEADGATE PROCESSING|event: ping)/)
          expect(text).toContain(goodEnds[format])
        })

        test('an upstream that fails after a heartbeat is an error event with status 200', async () => {
          const quiet = Promise.withResolvers<void>()
          const json = { error: { message: 'boom' } }
          bench().first.enqueue({ status: 500, json, waitFor: quiet.promise })
          const response = await sendPassingTime(bench(), format, { model: 'test/chat', stream: true })
          quiet.resolve()
          expect(response.status).toBe(200)
          const text = await response.text()
          expect(text).toContain(badEnds[format])
          expect(text).not.toContain(goodEnds[format])
        })

        test('an upstream that stalls is an error event', async () => {
          bench().first.enqueue({ sse: vendorReply('chat', 'text').frames.slice(0, 4), hang: true })
          const text = await readPassingTime(bench(), format, { model: 'test/chat', stream: true })
          expect(text).toContain(badEnds[format])
          const outcome = await lastRequest(bench().first.requests).done
          expect(outcome.closedByPeerAt).not.toBeNull()
        })
      })
    }

    test('R4 R5 a client that disconnects closes the upstream within 250 ms, and is charged for what it received', async () => {
      const { frames } = vendorReply('chat', 'text')
      bench().first.enqueue({ sse: frames.slice(0, 4), hang: true })
      const left = new AbortController()
      const response = await sendRequest(
        bench(),
        'chat',
        { model: 'test/chat', stream: true },
        { signal: left.signal },
      )
      const reader = response.body?.getReader()
      await reader?.read()
      const leftAt = Date.now()
      left.abort()
      const outcome = await lastRequest(bench().first.requests).done
      expect((outcome.closedByPeerAt ?? Number.POSITIVE_INFINITY) - leftAt).toBeLessThan(250)
      const [row, ...more] = await waitForGenerations(bench(), 1)
      expect(more).toEqual([])
      expect(row).toMatchObject({ status: 'cancelled', usage_source: 'estimated' })
      expect(row?.cost_nanos).toBeGreaterThan(0n)
    })

    test.each([
      ['test/chat', 'estimated'],
      ['test/stubborn', 'reported'],
    ])(
      'R4 R5 a client of %s that disconnects before its first byte is charged for what was generated',
      async (model, usage_source) => {
        const { gateway, own, url } = bench().server
        const { frames } = vendorReply('chat', 'text')
        const isEndless = usage_source === 'estimated'
        bench().first.enqueue({ sse: isEndless ? frames.slice(0, 4) : frames, hang: isEndless })
        const left = new AbortController()
        const body = { model, stream: true, messages: [{ role: 'user', content: 'Hello' }] }
        const httpRequest = new Request(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${own.inferenceKey}` },
          signal: left.signal,
        })
        const caller = await authenticate(gateway, httpRequest, true)
        const source = { text: JSON.stringify(body), values: 10, body }
        const response = await handleInference(gateway, {
          caller,
          region: 'global',
          httpRequest,
          body,
          source,
          format: formats.chat,
        })
        expect(response.status).toBe(200)
        left.abort()
        const [row, ...more] = await waitForGenerations(bench(), 1)
        expect(more).toEqual([])
        expect(row).toMatchObject({ status: 'cancelled', usage_source })
        expect(row?.cost_nanos).toBeGreaterThan(0n)
        expect(gateway.upstreams.exchanges.size).toBe(0)
      },
    )

    test('R5 where a disconnect does not stop billing, the reply is drained and its usage charged', async () => {
      const { frames, usage } = vendorReply('chat', 'text')
      bench().first.enqueue({ sse: frames, delayMs: 20 })
      const left = new AbortController()
      const response = await sendRequest(
        bench(),
        'chat',
        { model: 'test/stubborn', stream: true },
        { signal: left.signal },
      )
      await response.body?.getReader().read()
      left.abort()
      const [row, ...more] = await waitForGenerations(bench(), 1)
      expect(more).toEqual([])
      expect(row).toMatchObject({
        status: 'cancelled',
        usage_source: 'reported',
        tokens_output: usage.output,
      })
      expect((await lastRequest(bench().first.requests).done).complete).toBe(true)
    })

    test('R4 a client that disconnects before the first byte closes the upstream too', async () => {
      bench().first.enqueue({ hang: true, sse: [] })
      const left = new AbortController()
      const request = sendRequest(
        bench(),
        'chat',
        { model: 'test/chat', stream: true },
        { signal: left.signal },
      )
      request.catch(() => undefined)
      await bench().first.waitForRequests(1)
      left.abort()
      const outcome = await lastRequest(bench().first.requests).done
      expect(outcome.closedByPeerAt).not.toBeNull()
      const rows = await waitForGenerations(bench(), 1)
      expect(rows.map((row) => row.status)).toEqual(['cancelled'])
    })

    test('a client that disconnects during a whole reply closes the upstream', async () => {
      bench().first.enqueue({ hang: true, json: {}, waitMs: 60_000 })
      const left = new AbortController()
      const request = sendRequest(bench(), 'chat', { model: 'test/chat' }, { signal: left.signal })
      request.catch(() => undefined)
      await bench().first.waitForRequests(1)
      left.abort()
      expect((await lastRequest(bench().first.requests).done).closedByPeerAt).not.toBeNull()
      expect((await waitForGenerations(bench(), 1)).map((row) => row.status)).toEqual(['cancelled'])
    })
  },
  limits,
)

describeWithUpstreamsOnSqlite('failover', (bench) => {
  beforeEach(() => clearGenerations(bench()))
  const both = { model: 'test/both-chat' }
  const failures = {
    'a 500': { status: 500, json: { error: { message: 'boom' } } },
    'a 429': { status: 429, json: { error: { message: 'slow down' } } },
    'a 401': { status: 401, json: { error: { message: 'bad key' } } },
    'a connection that breaks': { breakBeforeHead: true },
    'a body that is no JSON': { text: '<html>' },
    'an empty object': { json: {} },
  }
  for (const [name, failure] of Object.entries(failures)) {
    test(`R30 I11 after ${name} the next endpoint serves the request, unnoticed`, async () => {
      bench().first.enqueue(failure)
      const response = await sendRequest(bench(), 'chat', both)
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ model: 'test/both-chat', provider: 'two-chat' })
      const [row] = await waitForGenerations(bench(), 1)
      expect(JSON.parse(row?.attempts ?? '[]')).toHaveLength(1)
      expect(bench().first.requests).toHaveLength(1)
      expect(bench().second.requests).toHaveLength(1)
    })
  }

  test('R30 a stream that breaks before its first content fails over unnoticed', async () => {
    const { frames } = vendorReply('chat', 'text')
    bench().first.enqueue({ sse: frames.slice(0, 1), breakAfterBytes: 10_000 })
    const text = await (await sendRequest(bench(), 'chat', { ...both, stream: true })).text()
    expect(text).toContain('data: [DONE]')
    expect(text).toContain('two-chat')
    expect(text).not.toContain('one-chat')
  })

  test('R30 a stream that breaks after its first content does not fail over', async () => {
    const { frames } = vendorReply('chat', 'text')
    bench().first.enqueue({ sse: frames.slice(0, 4), endWithoutDone: true })
    const text = await (await sendRequest(bench(), 'chat', { ...both, stream: true })).text()
    expect(text).toContain('"finish_reason":"error"')
    expect(bench().second.requests).toEqual([])
  })

  test('an error of the request itself is not retried elsewhere', async () => {
    bench().first.enqueue({
      status: 400,
      json: { error: { message: 'bad tool', type: 'invalid_request_error' } },
    })
    const response = await sendRequest(bench(), 'chat', both)
    expect(response.status).toBe(400)
    expect((await readJson(response)).error.message).toBe('bad tool')
    expect(bench().second.requests).toEqual([])
  })

  test('allow_fallbacks false gives the error of the first choice', async () => {
    bench().first.enqueue({ status: 500, json: { error: { message: 'boom' } } })
    const response = await sendRequest(bench(), 'chat', { ...both, provider: { allow_fallbacks: false } })
    expect(response.status).toBe(502)
    expect(bench().second.requests).toEqual([])
  })

  test('order, only and ignore choose the endpoint', async () => {
    const providerOf = async (provider: object) =>
      (await readJson(sendRequest(bench(), 'chat', { ...both, provider }))).provider
    expect(await providerOf({})).toBe('one-chat')
    expect(await providerOf({ order: ['two-chat'] })).toBe('two-chat')
    expect(await providerOf({ only: ['two-chat'] })).toBe('two-chat')
    expect(await providerOf({ ignore: ['one-chat'] })).toBe('two-chat')
    const none = await sendRequest(bench(), 'chat', { ...both, provider: { only: ['unknown'] } })
    expect(none.status).toBe(503)
    expect((await readJson(none)).error.availability.code).toBe('constraint_filtered')
  })

  test.each([
    ['require_parameters', { require_parameters: true }, { top_k: 5 }],
    ['data_collection', { data_collection: 'deny' }, {}],
    ['zdr', { zdr: true }, {}],
    ['quantizations', { quantizations: ['fp8'] }, {}],
  ])('provider.%s leaves only endpoints that meet it, and 503 when none does', async (_, provider, extra) => {
    const served = await readJson(sendRequest(bench(), 'chat', { ...both, ...extra, provider }))
    expect(served.provider).toBe('two-chat')
    const rejected = await sendRequest(bench(), 'chat', { model: 'test/chat', ...extra, provider })
    expect(rejected.status).toBe(503)
    expect(rejected.headers.get('x-should-retry')).toBe('false')
  })

  test('an endpoint that does not support a sampling parameter is not sent it, and the response reports it', async () => {
    const response = await sendRequest(bench(), 'chat', {
      ...both,
      seed: 7,
      provider: { only: ['two-chat'] },
    })
    expect(response.headers.get('x-headgate-dropped')).toBe('seed')
    expect(lastRequest(bench().second.requests).json).not.toHaveProperty('seed')
  })

  test('fallbacks of a Messages request are tried like models', async () => {
    bench().first.enqueue({ status: 500, json: {} })
    const body = { model: 'test/messages', fallbacks: [{ model: 'test/chat' }] }
    expect((await readJson(sendRequest(bench(), 'messages', body))).model).toBe('test/chat')
  })

  test('models are tried in order on any error, and the one that succeeded is named', async () => {
    bench().first.enqueue({
      status: 400,
      json: { error: { message: 'too long', code: 'context_length_exceeded' } },
    })
    const response = await sendRequest(bench(), 'chat', { model: 'test/chat', models: ['test/messages'] })
    expect((await readJson(response)).model).toBe('test/messages')
  })

  test('models and fallbacks: at most three, and not both', async () => {
    const many = ['a/1', 'a/2', 'a/3', 'a/4']
    expect((await sendRequest(bench(), 'chat', { model: 'test/chat', models: many })).status).toBe(400)
    const fallbacks = many.map((model) => ({ model }))
    expect((await sendRequest(bench(), 'messages', { model: 'test/chat', fallbacks })).status).toBe(400)
    const both = { fallbacks: [{ model: 'test/chat' }], models: ['test/chat'] }
    expect((await sendRequest(bench(), 'messages', { model: 'test/chat', ...both })).status).toBe(400)
  })

  const limited = (headers: Record<string, string>) => ({
    status: 429,
    headers,
    json: { error: { message: 'slow' } },
  })

  test('Retry-After only when every provider that was tried sent one', async () => {
    bench().first.enqueue(limited({ 'retry-after': '7' }))
    bench().second.enqueue(limited({ 'retry-after': '3' }))
    const all = await sendRequest(bench(), 'chat', both)
    expect([all.status, all.headers.get('retry-after')]).toEqual([429, '3'])
    expect((await readJson(all)).error.availability).toMatchObject({
      code: 'capacity_exhausted',
      affected_providers: ['one-chat', 'two-chat'],
      retryable: true,
      retry_after: 3,
    })
    resetRouting(bench().server)
    bench().first.enqueue(limited({ 'retry-after': '7' }))
    bench().second.enqueue(limited({}))
    expect((await sendRequest(bench(), 'chat', both)).headers.get('retry-after')).toBeNull()
  })

  test.each<[hint: string, scripted: UpstreamResponse, retryAfter: string | null]>([
    ['in milliseconds', limited({ 'retry-after-ms': '1500' }), '2'],
    ['in milliseconds, as Azure sends it', limited({ 'x-ms-retry-after-ms': '2500' }), '3'],
    ['that is empty', limited({ 'retry-after-ms': '' }), null],
    ['that is a word', limited({ 'retry-after': 'soon' }), null],
    ['of years', limited({ 'retry-after': '99999999' }), '300'],
    ['beyond all numbers', { status: 429, json: { error: { message: 'no', retry_after: 1e308 } } }, '300'],
  ])('a Retry-After %s', async (_, scripted, retryAfter) => {
    bench().first.enqueue(scripted)
    const response = await sendRequest(bench(), 'chat', { model: 'test/chat' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, retryAfter])
  })
})

describeWithUpstreams('a finished stream', (bench) => {
  test('leaves its connection to the provider for reuse', async () => {
    for (let i = 0; i < 10; i++) {
      await (await sendRequest(bench(), 'chat', { model: 'test/chat', stream: true })).text()
    }
    // One to check reachability, one for requests; never one per request.
    expect(bench().first.countAcceptedConnections()).toBeLessThan(5)
  })
})

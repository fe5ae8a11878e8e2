import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { recordSpans } from '../../src/inference/request/spans.ts'
import { createVideo } from '../media/video-jobs.ts'
import { listMadeUpNames } from '../support/conventions.ts'
import { databaseKinds, resetRouting, startTestServer, type TestServer } from '../support/harness.ts'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts'
import { vendorErrors } from '../support/replies.ts'
import { computeSignature } from '../support/sigv4.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { type Bench, buildSettings, lastRequest, sendRequest } from './two-upstreams.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${spanId}-01`
const kinds = { internal: 1, server: 2, client: 3 }
const canary = 'CANARY-7f3a9c51e8'

const accessKey = {
  accessKeyId: 'AKIACANARY0123456789',
  secretAccessKey: `${canary}-secret-access-key`,
  region: 'eu-west-1',
}

/** Two upstreams, and one that requests are signed for. */
function buildTracedSettings(first: string, second: string): string {
  const signed = `  - { slug: signed, name: signed, like: amazon-bedrock, base_url: "${first}", credentials: ${JSON.stringify(accessKey)} }\nmodels:\n`
  const model = `  - { id: test/signed, name: signed, endpoints: [{ provider: signed, upstream_model: vendor-model, dialects: [messages], pricing: { prompt: "0", completion: "0" } }] }\n`
  return buildSettings(first, second).replace('models:\n', signed) + model
}

async function openTraced(
  environment: Record<string, string>,
  kind: (typeof databaseKinds)[number] = 'sqlite',
): Promise<Bench> {
  const [first, second] = await Promise.all([startUpstream(), startUpstream()])
  const settings = buildTracedSettings(first.url, second.url)
  const server = await startTestServer(kind, { settings, environment })
  resetRouting(server)
  return { server, first, second }
}

async function closeTraced({ server, first, second }: Bench): Promise<void> {
  await server.stop()
  await Promise.all([first.stop(), second.stop()])
}

/** The spans that have arrived, the span of the request first. */
async function collect({ gateway }: TestServer, receiver: OtlpReceiver) {
  await gateway.tracer?.exporter.flush()
  const spans = receiver.spans.splice(0)
  const root = spans.find(({ kind }) => kind === kinds.server)
  if (!root) throw new Error('the request has no span')
  const children = spans.filter((span) => span !== root)
  for (const { attributes } of spans) expect(listMadeUpNames(attributes)).toEqual([])
  return { root, children, names: children.map(({ name }) => name) }
}

/** An abandoned request is settled after its client has disconnected. */
async function waitForRequestSpan({ gateway }: TestServer, { spans }: OtlpReceiver): Promise<void> {
  const deadline = Date.now() + 5000
  while (!spans.some(({ kind }) => kind === kinds.server) && Date.now() < deadline) {
    await Bun.sleep(5)
    await gateway.tracer?.exporter.flush()
  }
}

function findSpan(spans: ReceivedSpan[], name: string): ReceivedSpan {
  const span = spans.find((candidate) => candidate.name === name)
  if (!span) throw new Error(`no span ${name}`)
  return span
}

const stages = ['parse', 'guard', 'route', 'admit']

for (const kind of databaseKinds) {
  describe(`own traces (${kind})`, () => {
    let bench: Bench
    let receiver: OtlpReceiver
    beforeAll(async () => {
      receiver = startOtlpReceiver()
      bench = await openTraced({ OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/` }, kind)
    })
    beforeEach(async () => {
      resetRouting(bench.server)
      await bench.server.gateway.tracer?.exporter.flush()
      receiver.spans.length = 0
    })
    afterAll(async () => {
      await closeTraced(bench)
      await receiver.stop()
    })

    test('a whole reply: each stage is a child of the request', async () => {
      const response = await sendRequest(bench, 'chat', { model: 'test/chat' })
      await response.text()
      const { root, children, names } = await collect(bench.server, receiver)
      expect(names).toEqual([...stages, 'attempt one-chat', 'reply', 'settle'])
      expect(root).toMatchObject({ name: 'POST /chat/completions', parentSpanId: '', code: 0 })
      expect(root.attributes).toMatchObject({
        'http.request.method': 'POST',
        'http.route': '/chat/completions',
        'http.response.status_code': 200,
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'test/chat',
        'gen_ai.provider.name': 'one-chat',
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
        'headgate.generation_id': response.headers.get('x-generation-id'),
        'headgate.request_id': response.headers.get('x-request-id'),
      })
      for (const child of children) {
        expect(child).toMatchObject({ traceId: root.traceId, parentSpanId: root.spanId, code: 0 })
        expect(child.start).toBeGreaterThanOrEqual(root.start)
        expect(child.end).toBeGreaterThanOrEqual(child.start)
        expect(child.end).toBeLessThanOrEqual(root.end)
      }
      const attempt = findSpan(children, 'attempt one-chat')
      expect(attempt.kind).toBe(kinds.client)
      expect(attempt.attributes).toEqual({
        'gen_ai.provider.name': 'one-chat',
        'gen_ai.request.model': 'test/chat',
        'headgate.endpoint': 'one-chat',
        'headgate.byok': false,
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(bench.first.url).port),
        'http.response.status_code': 200,
      })
    })

    test('a streamed reply: the request ends with its settlement', async () => {
      const response = await sendRequest(bench, 'chat', { model: 'test/chat', stream: true })
      await response.text()
      const { root, children, names } = await collect(bench.server, receiver)
      expect(names).toEqual([...stages, 'attempt one-chat', 'reply', 'settle'])
      const attempt = findSpan(children, 'attempt one-chat')
      expect(attempt.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThan(0)
      expect(root.end).toBeGreaterThanOrEqual(findSpan(children, 'settle').end)
      expect(findSpan(children, 'reply').start).toBeGreaterThan(attempt.start)
    })

    test('failover after the first heartbeat: the request still ends with its settlement', async () => {
      const { settings } = bench.server.gateway
      bench.server.gateway.settings = { ...settings, limits: { ...settings.limits, heartbeat: 20 } }
      bench.first.enqueue({ status: 503, json: vendorErrors.chat('overloaded'), waitMs: 100 })
      const response = await sendRequest(bench, 'chat', { model: 'test/both-chat', stream: true })
      await response.text()
      bench.server.gateway.settings = settings
      const { root, children, names } = await collect(bench.server, receiver)
      expect(names).toEqual([...stages, 'attempt one-chat', 'attempt two-chat', 'reply', 'settle'])
      expect(root.end).toBeGreaterThanOrEqual(findSpan(children, 'settle').end)
      expect(root.attributes['gen_ai.provider.name']).toBe('two-chat')
    })

    test('a client that disconnects: the request ends as canceled', async () => {
      bench.first.enqueue({
        sse: ['data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'],
        hang: true,
      })
      const controller = new AbortController()
      const init = { signal: controller.signal }
      const response = await sendRequest(bench, 'chat', { model: 'test/chat', stream: true }, init)
      await response.body?.getReader().read()
      controller.abort()
      await waitForRequestSpan(bench.server, receiver)
      const { root, children } = await collect(bench.server, receiver)
      expect(root).toMatchObject({ code: 2, attributes: { 'error.type': 'cancelled' } })
      expect(findSpan(children, 'reply').attributes['error.type']).toBe('cancelled')
    })

    test('failover: the failed attempt is next to the one that replied', async () => {
      bench.first.enqueue({ status: 503, json: vendorErrors.chat('overloaded') })
      const response = await sendRequest(bench, 'chat', { model: 'test/both-chat' })
      expect(response.status).toBe(200)
      const { root, children, names } = await collect(bench.server, receiver)
      expect(names).toEqual([...stages, 'attempt one-chat', 'attempt two-chat', 'reply', 'settle'])
      const failed = findSpan(children, 'attempt one-chat')
      expect(failed.code).toBe(2)
      expect(failed.attributes).toMatchObject({
        'http.response.status_code': 503,
        'error.type': 'provider_overloaded',
      })
      expect(findSpan(children, 'attempt two-chat').code).toBe(0)
      expect(root).toMatchObject({ code: 0, attributes: { 'gen_ai.provider.name': 'two-chat' } })
    })

    test('a request that fails everywhere', async () => {
      bench.first.enqueue({ status: 500, json: vendorErrors.chat('broken') })
      const response = await sendRequest(bench, 'chat', { model: 'test/chat' })
      const { root, children, names } = await collect(bench.server, receiver)
      expect(names).toContain('settle')
      expect(findSpan(children, 'attempt one-chat').code).toBe(2)
      expect(root).toMatchObject({ code: 2, attributes: { 'http.response.status_code': response.status } })
    })

    test('a cache hit: no attempt', async () => {
      const headers = { 'x-service-cache': 'true' }
      await (await sendRequest(bench, 'chat', { model: 'test/chat', seed: 7 }, { headers })).text()
      expect((await collect(bench.server, receiver)).names).toContain('cache lookup')
      await (await sendRequest(bench, 'chat', { model: 'test/chat', seed: 7 }, { headers })).text()
      const { root, names } = await collect(bench.server, receiver)
      expect(names).toEqual(['parse', 'guard', 'route', 'cache lookup', 'admit', 'settle'])
      expect(root.attributes).toMatchObject({
        'headgate.cache.hit': true,
        'gen_ai.provider.name': 'one-chat',
      })
    })

    test('other tasks: embeddings, speech and a video job', async () => {
      const { server } = bench
      const key = server.own.inferenceKey
      const sandbox = [...stages, 'attempt sandbox', 'reply', 'settle']
      const embedding = { model: 'sandbox/embedder', input: 'Hello', dimensions: 8 }
      await server.call('POST', '/embeddings', { key, body: embedding })
      const embeddings = await collect(server, receiver)
      expect(embeddings.names).toEqual(sandbox)
      expect(embeddings.root.attributes).toMatchObject({
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.embeddings.dimension.count': 8,
      })
      const body = { model: 'sandbox/speaker', input: 'Hello', voice: 'low', response_format: 'wav' }
      expect((await server.call('POST', '/audio/speech', { key, body })).status).toBe(200)
      const speech = await collect(server, receiver)
      expect(speech.names).toEqual(sandbox)
      expect(speech.root.name).toBe('POST /audio/speech')
      expect((await createVideo(server, {})).status).toBe(202)
      // A job is settled when it has ended, by whichever node polls it.
      expect((await collect(server, receiver)).names).toEqual(sandbox.slice(0, -1))
    })

    test('a background response: the reply belongs to the request that started it', async () => {
      const { gateway } = bench.server
      const response = await sendRequest(bench, 'responses', {
        model: 'test/responses',
        background: true,
        store: true,
      })
      const { id } = (await response.json()) as { id: string }
      await gateway.backgroundRuns.get(id)?.done
      const { root, children, names } = await collect(bench.server, receiver)
      expect(names).toEqual([...stages, 'attempt one-responses', 'reply', 'settle'])
      for (const child of children) expect(child.traceId).toBe(root.traceId)
    })

    test('a refused request, and an operation without a model, have a span each', async () => {
      const { server } = bench
      const refused = await sendRequest(bench, 'chat', { model: 'test/none' })
      const first = await collect(server, receiver)
      expect(first.root).toMatchObject({ attributes: { 'http.response.status_code': refused.status } })
      expect(first.names).toEqual(['parse', 'guard', 'route'])
      await server.call('GET', '/keys')
      const second = await collect(server, receiver)
      expect(second).toMatchObject({ names: [], root: { name: 'GET /keys', code: 0 } })
      await server.call('GET', '/keys', { key: null })
      expect((await collect(server, receiver)).root.attributes['http.response.status_code']).toBe(401)
    })

    test('the trace of the client is continued, and passed on to the upstream', async () => {
      const headers = { traceparent, tracestate: 'congo=t61rcWkgMzE' }
      bench.first.requests.length = 0
      await (await sendRequest(bench, 'chat', { model: 'test/chat' }, { headers })).text()
      const { root, children } = await collect(bench.server, receiver)
      expect(root).toMatchObject({ traceId, parentSpanId: spanId, traceState: 'congo=t61rcWkgMzE' })
      const attempt = findSpan(children, 'attempt one-chat')
      expect(lastRequest(bench.first.requests).headers).toMatchObject({
        traceparent: `00-${traceId}-${attempt.spanId}-01`,
        tracestate: 'congo=t61rcWkgMzE',
      })
    })

    test('without a trace of the client, the upstream receives that of the gateway', async () => {
      await (await sendRequest(bench, 'chat', { model: 'test/chat' })).text()
      const { root, children } = await collect(bench.server, receiver)
      const attempt = findSpan(children, 'attempt one-chat')
      const { headers } = lastRequest(bench.first.requests)
      expect(headers.traceparent).toBe(`00-${root.traceId}-${attempt.spanId}-03`)
      expect(headers.tracestate).toBeUndefined()
    })

    test('a trace that the client does not sample is not exported, and stays unsampled', async () => {
      const headers = { traceparent: traceparent.replace(/01$/, '00') }
      await (await sendRequest(bench, 'chat', { model: 'test/chat' }, { headers })).text()
      await bench.server.gateway.tracer?.exporter.flush()
      expect(receiver.spans).toEqual([])
      expect(lastRequest(bench.first.requests).headers.traceparent).toMatch(
        new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`),
      )
    })

    test('R40 S12 no prompt, key or provider message is in a trace or a log', async () => {
      let logged = ''
      const { server } = bench
      const log = pino(
        { level: 'trace' },
        new Writable({
          write: (chunk, _encoding, done) => {
            logged += String(chunk)
            done()
          },
        }),
      )
      Object.assign(server.gateway, { log })
      receiver.requests.length = 0
      const message = `${canary} in the message`
      bench.first.enqueue({ status: 429, json: vendorErrors.chat(message) })
      const body = {
        model: 'test/both-chat',
        messages: [{ role: 'user', content: message }],
        trace: { trace_id: canary, trace_name: canary, secret: canary },
        session_id: canary,
        user: canary,
      }
      await (await sendRequest(bench, 'chat', body)).text()
      await (await sendRequest(bench, 'chat', { ...body, stream: true })).text()
      await (await sendRequest(bench, 'chat', body, { key: canary })).text()
      await (await sendRequest(bench, 'chat', { ...body, model: canary })).text()
      await server.gateway.tracer?.exporter.flush()
      expect(receiver.spans.length).toBeGreaterThan(20)
      const sent = receiver.requests.map(({ text }) => text).join()
      for (const secret of [canary, server.own.inferenceKey, 'vendor-secret'])
        expect(sent + logged).not.toContain(secret)
    })

    test('the export is in the metrics', async () => {
      const text = await (await fetch(`${bench.server.url}/metrics`)).text()
      expect(text).toMatch(/headgate_trace_spans_total\{result="exported"\} [1-9]/)
      expect(text).toContain('headgate_trace_spans_total{result="dropped"} 0')
    })
  })
}

describe('the OTLP export', () => {
  test.each(['http/protobuf', 'http/json'])(
    '%s arrives with the headers of the operator',
    async (protocol) => {
      const receiver = startOtlpReceiver()
      const bench = await openTraced({
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/custom/path`,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_HEADERS: 'api-key=top%20secret,x-tenant=a==',
        OTEL_SERVICE_NAME: 'my-gateway',
      })
      await (await sendRequest(bench, 'chat', { model: 'test/chat' }, { headers: { traceparent } })).text()
      const { root, names } = await collect(bench.server, receiver)
      expect(root).toMatchObject({ traceId, parentSpanId: spanId, name: 'POST /chat/completions' })
      expect(root.attributes['http.response.status_code']).toBe(200)
      expect(names).toEqual([...stages, 'attempt one-chat', 'reply', 'settle'])
      const [request] = receiver.requests
      expect(request?.path).toBe('/custom/path')
      expect(request?.headers.get('content-type')).toBe(
        protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
      )
      expect([request?.headers.get('api-key'), request?.headers.get('x-tenant')]).toEqual([
        'top secret',
        'a==',
      ])
      expect(request?.text).toContain('my-gateway')
      await closeTraced(bench)
      await receiver.stop()
    },
  )

  test('what is queued is sent when the server stops', async () => {
    const receiver = startOtlpReceiver()
    const bench = await openTraced({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    await bench.server.call('GET', '/keys')
    await closeTraced(bench)
    expect(receiver.spans.map(({ name }) => name)).toEqual(['GET /keys'])
    await receiver.stop()
  })

  test('a sampler of 0 exports nothing; one of half the traces decides by the trace id', async () => {
    const receiver = startOtlpReceiver()
    const bench = await openTraced({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.5',
    })
    const sampled = { traceparent: `00-${'1'.repeat(31)}f-${spanId}-00` }
    const high = { traceparent: `00-${'1'.repeat(16)}${'f'.repeat(16)}-${spanId}-00` }
    await bench.server.call('GET', '/keys', { headers: sampled })
    await bench.server.call('GET', '/keys', { headers: high })
    await bench.server.gateway.tracer?.exporter.flush()
    expect(receiver.spans.map((span) => span.traceId)).toEqual([`${'1'.repeat(16)}${'f'.repeat(16)}`])
    await closeTraced(bench)
    await receiver.stop()
  })
})

describe('without own traces', () => {
  let bench: Bench
  let first: Upstream
  beforeAll(async () => {
    bench = await openTraced({})
    first = bench.first
  })
  afterAll(() => closeTraced(bench))

  test('nothing is recorded, unless a destination receives it', () => {
    const { gateway } = bench.server
    const httpRequest = new Request('http://127.0.0.1/', { headers: { traceparent } })
    expect(gateway.tracer).toBeNull()
    expect(recordSpans(gateway, { httpRequest }, performance.now(), false)).toBeNull()
    const spans = recordSpans(gateway, { httpRequest }, performance.now(), true)
    expect(spans?.root).toMatchObject({ traceId, parentSpanId: spanId })
    expect(spans?.spans.map(({ name }) => name)).toEqual(['parse'])
  })

  test('an upstream is sent no trace that the client did not send', async () => {
    for (const header of [null, 'nonsense', `00-${'0'.repeat(32)}-${spanId}-01`]) {
      const headers = header === null ? {} : { traceparent: header, tracestate: 'a=1' }
      await (await sendRequest(bench, 'chat', { model: 'test/chat' }, { headers })).text()
      expect(lastRequest(first.requests).headers).not.toHaveProperty('traceparent')
      expect(lastRequest(first.requests).headers).not.toHaveProperty('tracestate')
    }
  })

  test.each([false, true])('the trace of the client is passed on (stream: %p)', async (stream) => {
    const headers = { traceparent, tracestate: 'a=1, b=2' }
    await (await sendRequest(bench, 'messages', { model: 'test/messages', stream }, { headers })).text()
    const sent = lastRequest(first.requests).headers
    expect(sent.traceparent).toMatch(new RegExp(`^00-${traceId}-(?!${spanId})[0-9a-f]{16}-01$`))
    expect(sent.tracestate).toBe('a=1,b=2')
  })

  test('each attempt has a span of its own, and a token count has one', async () => {
    resetRouting(bench.server)
    first.enqueue({ status: 503, json: vendorErrors.chat('overloaded') })
    const headers = { traceparent }
    await (await sendRequest(bench, 'chat', { model: 'test/both-chat' }, { headers })).text()
    const failed = lastRequest(first.requests).headers.traceparent
    const replied = lastRequest(bench.second.requests).headers.traceparent
    expect([failed, replied]).toEqual(Array(2).fill(expect.stringContaining(traceId)))
    expect(failed).not.toBe(replied)
    first.enqueue({ json: { input_tokens: 5 } })
    await bench.server.call('POST', '/messages/count_tokens', {
      key: bench.server.own.inferenceKey,
      body: { model: 'test/messages', messages: [{ role: 'user', content: 'Hello' }] },
      headers,
    })
    const counted = lastRequest(first.requests)
    expect(counted.path).toEndWith('/count_tokens')
    expect(counted.headers.traceparent).toContain(traceId)
  })

  test('a signed request is still valid: its signature does not cover the trace', async () => {
    const headers = { traceparent, tracestate: 'a=1' }
    await (await sendRequest(bench, 'messages', { model: 'test/signed' }, { headers })).text()
    const { headers: sent, text, path } = lastRequest(first.requests)
    expect(sent.traceparent).toContain(traceId)
    expect(sent.authorization).toContain('SignedHeaders=host;x-amz-date,')
    const signature = computeSignature(
      { method: 'POST', url: first.url + path, headers: sent, text },
      accessKey.secretAccessKey,
    )
    expect(sent.authorization).toEndWith(`Signature=${signature}`)
  })
})

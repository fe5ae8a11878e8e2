import { describe, expect, test } from 'bun:test'
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import fc from 'fast-check'
import { listMadeUpNames } from '../../../test/support/conventions.ts'
import { newGenerationEvent } from '../../../test/support/generation-event.ts'
import { measureLoopDelay } from '../../../test/support/loop-delay.ts'
import { decodeExports, hasOtlpDecoder, listSpans, readAttributes } from '../../../test/support/otlp.ts'
import { version } from '../../platform/version.ts'
import { destinations, getDestination } from './all.ts'
import type { GenerationEvent } from './event.ts'
import { encodeSpans } from './otlp-encode.ts'

interface Encoded {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { scope: unknown; spans: Record<string, unknown>[] }[]
  }[]
}
type Attribute = { key: string; value: Record<string, unknown> }

async function encode(...events: GenerationEvent[]): Promise<Encoded> {
  return JSON.parse(Buffer.from(await encodeSpans(events, 'json', {}, {})).toString()) as Encoded
}

function spansOf({ resourceSpans }: Encoded) {
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}

async function attributesOf(event: GenerationEvent): Promise<Record<string, unknown>> {
  const [span] = spansOf(await encode(event))
  const attributes = span?.attributes as Attribute[]
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.arrayValue ?? Object.values(value)[0]]),
  )
}

describe('the span of a request', () => {
  test('has the ids, names and times of the event', async () => {
    const request = await encode(newGenerationEvent())
    expect(request.resourceSpans[0]?.resource.attributes).toEqual([
      { key: 'service.name', value: { stringValue: 'headgate' } },
      { key: 'service.version', value: { stringValue: version } },
    ])
    const [root, , child] = spansOf(request)
    expect(root).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      parentSpanId: '00f067aa0ba902b7',
      name: 'draft',
      kind: 3,
      startTimeUnixNano: '1794823200250000000',
      endTimeUnixNano: '1794823201750000000',
      status: { code: 0 },
    })
    expect(child).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: '2222222222222222',
      parentSpanId: 'b7ad6b7169203331',
      name: 'attempt openai',
      kind: 1,
      status: { code: 2, message: 'overloaded' },
      attributes: expect.arrayContaining([{ key: 'error.type', value: { stringValue: 'overloaded' } }]),
    })
  })

  test('a span without a parent has none, and is named after what the client named, or the operation', async () => {
    const { trace } = newGenerationEvent()
    const unnamed = { ...trace, parentSpanId: null, generationName: null }
    const [named] = spansOf(await encode(newGenerationEvent({ trace: unnamed })))
    expect(named).not.toHaveProperty('parentSpanId')
    expect(named?.name).toBe('answer')
    const [plain] = spansOf(await encode(newGenerationEvent({ trace: { ...unnamed, spanName: null } })))
    expect(plain?.name).toBe('chat openai/gpt-5-mini:floor')
  })

  test('has no attribute with a name that the conventions do not have', async () => {
    const dimensions = { ...newGenerationEvent().parameters, dimensions: 8 }
    const spans = spansOf(await encode(newGenerationEvent({ parameters: dimensions })))
    const names = spans.flatMap(({ attributes }) => (attributes as Attribute[]).map(({ key }) => key))
    expect(names).toContain('gen_ai.embeddings.dimension.count')
    expect(listMadeUpNames(Object.fromEntries(names.map((name) => [name, true])))).toEqual([])
  })

  test('names the provider as the conventions do, and an attempt as a request to it', async () => {
    const { trace } = newGenerationEvent()
    const spans = trace.spans.map((span) => ({ ...span, kind: 'client' as const }))
    const event = newGenerationEvent({ telemetryProvider: 'x_ai', trace: { ...trace, spans } })
    expect(await attributesOf(event)).toMatchObject({ 'gen_ai.provider.name': 'x_ai' })
    expect(spansOf(await encode(event)).map(({ kind }) => kind)).toEqual([3, 3, 3])
  })

  test('has the attributes of the GenAI conventions, and the older names of the token counts', async () => {
    expect(await attributesOf(newGenerationEvent())).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'openai/gpt-5-mini:floor',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 100,
      'gen_ai.request.stop_sequences': { values: [{ stringValue: 'END' }] },
      'gen_ai.response.model': 'openai/gpt-5-mini',
      'gen_ai.response.id': 'gen_1',
      'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
      'gen_ai.response.time_to_first_chunk': 0.4,
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 30,
      'gen_ai.usage.prompt_tokens': 120,
      'gen_ai.usage.completion_tokens': 30,
      'gen_ai.usage.total_tokens': 150,
      'gen_ai.usage.cache_read.input_tokens': 50,
      'gen_ai.usage.cache_creation.input_tokens': 20,
      'gen_ai.usage.reasoning.output_tokens': 10,
      'gen_ai.conversation.id': 'session-1',
      'user.id': 'user-1',
      'session.id': 'session-1',
      'trace.name': 'checkout',
      'trace.span_name': 'answer',
      'trace.metadata.team': 'blue',
      'trace.metadata.$set': '{"email":"a@example.com"}',
    })
  })

  test('has input and output in an event instead, if its destination wants that', async () => {
    const event = newGenerationEvent()
    const [plain] = spansOf(await encode(event))
    const bytes = await encodeSpans([event], 'json', { hasContentEvent: true }, {})
    const [span] = spansOf(JSON.parse(Buffer.from(bytes).toString()) as Encoded)
    const isMessages = ({ key }: Attribute) => /^gen_ai\.(input|output)\.messages$/.test(key)
    const all = plain?.attributes as Attribute[]
    expect(all.filter(isMessages)).toHaveLength(2)
    expect(span?.attributes).toEqual(all.filter((attribute) => !isMessages(attribute)))
    expect(span?.events).toEqual([
      expect.objectContaining({
        name: 'gen_ai.client.inference.operation.details',
        timeUnixNano: span?.endTimeUnixNano,
        attributes: all.filter(isMessages),
      }),
    ])
    expect(plain?.events).toEqual([])
    const [hidden] = spansOf(
      JSON.parse(
        Buffer.from(
          await encodeSpans([{ ...event, input: null, output: null }], 'json', { hasContentEvent: true }, {}),
        ).toString(),
      ) as Encoded,
    )
    expect(hidden?.events).toEqual([])
  })

  test('has input and output as JSON in the form of the conventions', async () => {
    const attributes = await attributesOf(newGenerationEvent())
    expect(JSON.parse(String(attributes['gen_ai.input.messages']))).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      { role: 'user', parts: [{ type: 'text', content: "How's the weather in 'Rome'; DROP TABLE x; --?" }] },
    ])
    expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'Look it up.' },
          { type: 'text', content: 'Sunny ☀️' },
          { type: 'tool_call', id: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' },
        ],
        finish_reason: 'stop',
      },
    ])
  })

  test('cost, identity and context are attributes only where the event has them', async () => {
    const withAll = await attributesOf(newGenerationEvent())
    expect(withAll).toMatchObject({
      'gen_ai.usage.cost': 0.00000015,
      'headgate.cost.upstream': 0.00000012,
      'headgate.api_key.name': 'Key of Ann / prod',
      'headgate.workspace.id': 'ws_1',
      'headgate.request.id': 'req_1',
      'user_agent.original': 'curl/8',
      'headgate.filters': '[{"id":"email","action":"redact"}]',
    })
    const without = await attributesOf(newGenerationEvent({ cost: null, identity: null, context: null }))
    const extra = Object.keys(withAll).filter((name) => !Object.hasOwn(without, name))
    expect(extra.sort()).toEqual([
      'gen_ai.usage.cost',
      'headgate.api_key.hash',
      'headgate.api_key.name',
      'headgate.app.title',
      'headgate.app.url',
      'headgate.cost.is_byok',
      'headgate.cost.upstream',
      'headgate.filters',
      'headgate.member.id',
      'headgate.organization.id',
      'headgate.request.endpoint',
      'headgate.request.format',
      'headgate.request.id',
      'headgate.service_tier',
      'headgate.workspace.id',
      'user_agent.original',
    ])
  })

  test('a failed request is an error with its code and message', async () => {
    const error = { code: 'rate_limited', message: 'Rate limited by every provider of this model.' }
    const [span] = spansOf(await encode(newGenerationEvent({ status: 'failed', error })))
    expect(span?.status).toEqual({ code: 2, message: error.message })
    expect(await attributesOf(newGenerationEvent({ status: 'failed', error }))).toMatchObject({
      'error.type': 'rate_limited',
      'headgate.status': 'failed',
    })
  })

  test('R40 without input and output, no kind sends a word of them', async () => {
    const secret = 'canary-5e0f'
    const event = newGenerationEvent({
      input: { messages: [{ role: 'user', content: secret }] },
      output: { completion: secret, reasoning: secret, tool_calls: [] },
    })
    for (const type of otlpTypes) {
      const send = async (sent: GenerationEvent) =>
        Buffer.from((await encodeFor(type, [sent])).bytes).toString('latin1')
      expect({ type, found: (await send(event)).includes(secret) }).toEqual({ type, found: true })
      const found = (await send({ ...event, input: null, output: null })).includes(secret)
      expect({ type, found }).toEqual({ type, found: false })
    }
  })
})

const otlpTypes = destinations
  .map(({ type }) => type)
  .filter((type) => !['clickhouse', 'datadog', 'posthog', 's3', 'snowflake'].includes(type))

/** The config is only read for headers here. */
async function encodeFor(type: string, events: GenerationEvent[]) {
  const config = { dsn: 'https://a@b/1' }
  const { exporter } = getDestination(type)
  const { headers, body } = await exporter!.encode(config, 'https://receiver.example', events, 0)
  return { contentType: headers['content-type'] ?? '', bytes: body as Uint8Array }
}

describe('limits', () => {
  test('long values are cut, and lists and maps of clients have a limit', async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`key${at}`, 'v']))
    const event = newGenerationEvent({
      requestedModel: 'm'.repeat(50_000),
      finishReason: null,
      parameters: { ...many, stop: Array.from({ length: 500 }, () => 'x') },
    })
    event.trace = {
      ...event.trace,
      metadata: { deep: 'x'.repeat(50_000), ...many },
      generationName: 'n'.repeat(5000),
    }
    event.trace.spans = Array.from({ length: 1000 }, () => event.trace.spans[0]!)
    const spans = spansOf(await encode(event))
    expect(spans).toHaveLength(257)
    const attributes = spans[0]?.attributes as Attribute[]
    expect(attributes.length).toBeLessThan(250)
    const longest = Math.max(...attributes.map(({ value }) => String(value.stringValue ?? '').length))
    expect(longest).toBeLessThanOrEqual(16 * 1024)
    expect(String(spans[0]?.name).length).toBeLessThan(256)
  })

  test('the newest messages are kept when the input is too long, and the span says so', async () => {
    const content = 'x'.repeat(100_000)
    const messages = Array.from({ length: 10 }, (_, at) => ({ role: 'user', content: `${at} ${content}` }))
    const attributes = await attributesOf(newGenerationEvent({ input: { messages } }))
    const sent = JSON.parse(String(attributes['gen_ai.input.messages'])) as {
      parts: { content: string }[]
    }[]
    const texts = sent.map(({ parts }) => parts[0]!.content)
    expect(texts.map((text) => text.slice(0, 2))).toEqual(['7 ', '8 ', '9 '])
    expect(texts.join('').length).toBeWithin(255 * 1024, 256 * 1024)
    expect(texts[0]).toEndWith('... [truncated]')
    expect(attributes['headgate.content.cut']).toBe(true)
    expect(await attributesOf(newGenerationEvent())).not.toHaveProperty(['headgate.content.cut'])
  })

  test('New Relic, which cuts values, receives no longer ones', async () => {
    const event = newGenerationEvent({ input: { prompt: 'word "quoted" '.repeat(10_000) } })
    const { bytes } = await encodeFor('newrelic', [event])
    expect(bytes.length).toBeLessThan(16 * 1024)
  })

  test.each(['plain text ', '"quo\\ted"\n', 'schön 漢字 ', '😀', '\u0001'])(
    'events of a megabyte do not hold the event loop: %j',
    async (word) => {
      const text = word.repeat((1024 * 1024) / word.length)
      const event = newGenerationEvent({
        input: { messages: [{ role: 'user', content: text }] },
        output: { completion: text, reasoning: null, tool_calls: [] },
      })
      const events = Array.from({ length: 4 }, () => event)
      await encodeFor('arize', events)
      // Each has another form of messages.
      for (const type of ['webhook', 'grafana', 'langfuse', 'arize']) {
        expect(await measureLoopDelay(60, () => encodeFor(type, events))).toBeLessThan(60)
      }
    },
  )
})

test('several events are one request', async () => {
  const events = Array.from({ length: 3 }, (_, at) => newGenerationEvent({ id: `gen-${at}` }))
  const spans = spansOf(await encode(...events))
  expect(spans).toHaveLength(9)
  expect(JsonTraceSerializer.serializeRequest([])).toEqual(await encodeSpans([], 'json', {}, {}))
})

const hex = (length: number) =>
  fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length }).map((digits) => {
    return `${digits.slice(1).join('')}1`
  })

const unpaired = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 10 })
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  unpaired.map((codes) => String.fromCharCode(...codes)),
)
const anyTime = fc.integer({ min: 0, max: 4e12 })
const anyScalar = fc.oneof(anyText, fc.boolean(), fc.integer(), fc.double({ noNaN: true }))

const anySpan = fc.record({
  spanId: hex(16),
  parentSpanId: hex(16),
  name: anyText,
  startedAt: anyTime,
  endedAt: anyTime,
  attributes: fc.dictionary(anyText, anyScalar, { maxKeys: 4 }),
  error: fc.option(anyText),
})

const anyEvent = fc
  .record({
    id: anyText,
    startedAt: anyTime,
    endedAt: anyTime,
    firstTokenAt: fc.option(anyTime),
    model: anyText,
    status: fc.constantFrom('completed' as const, 'failed' as const, 'cancelled' as const),
    error: fc.option(fc.record({ code: anyText, message: anyText })),
    finishReason: fc.option(anyText),
    parameters: fc.dictionary(anyText, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5 }),
    sessionId: fc.option(anyText),
    externalUser: fc.option(anyText),
    input: fc.option(fc.record({ messages: fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 5 }) })),
    output: fc.option(
      fc.record({
        completion: fc.option(anyText),
        reasoning: fc.option(anyText),
        tool_calls: fc.array(fc.record({ id: anyText, name: anyText, arguments: anyText }), { maxLength: 3 }),
      }),
    ),
    cost: fc.option(fc.constant(newGenerationEvent().cost)),
    trace: fc.record({
      traceId: hex(32),
      spanId: hex(16),
      parentSpanId: fc.option(hex(16)),
      traceName: fc.option(anyText),
      spanName: fc.option(anyText),
      generationName: fc.option(anyText),
      metadata: fc.dictionary(anyText, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5 }),
      spans: fc.array(anySpan, { maxLength: 4 }),
    }),
  })
  .map((fields) => newGenerationEvent(fields as Partial<GenerationEvent>))

describe.skipIf(!hasOtlpDecoder)("decoded with OpenTelemetry's definitions", () => {
  test('JSON and protobuf of the same events have the same spans', async () => {
    const batches = fc.sample(fc.array(anyEvent, { minLength: 1, maxLength: 3 }), 100)
    const bodies = await Promise.all(
      batches.flatMap((events) => [
        encodeSpans(events, 'json', {}, {}).then((bytes) => ({ contentType: 'application/json', bytes })),
        encodeSpans(events, 'protobuf', {}, {}).then((bytes) => ({ contentType: '', bytes })),
      ]),
    )
    const decoded = await decodeExports(bodies)
    expect(decoded).toHaveLength(2 * batches.length)
    batches.forEach((events, at) => {
      const [fromJson, fromProtobuf] = [decoded[2 * at]!, decoded[2 * at + 1]!]
      expect(fromProtobuf).toEqual(fromJson)
      const expected = events.flatMap(({ trace }) => [
        trace.spanId,
        ...trace.spans.map(({ spanId }) => spanId),
      ])
      expect(listSpans(fromJson).map(({ spanId }) => spanId)).toEqual(expected)
    })
  })

  test('every kind encodes every event', async () => {
    const events = fc.sample(anyEvent, 30)
    const decoded = await decodeExports(await Promise.all(otlpTypes.map((type) => encodeFor(type, events))))
    const expected = events.flatMap(({ trace }) => [trace.spanId, ...trace.spans.map(({ spanId }) => spanId)])
    expect(decoded).toHaveLength(12)
    for (const request of decoded) expect(listSpans(request).map(({ spanId }) => spanId)).toEqual(expected)
  })

  test('the definitions accept every field of a whole event', async () => {
    const bytes = await encodeSpans([newGenerationEvent()], 'json', {}, {})
    const [request] = await decodeExports([{ contentType: 'application/json', bytes }])
    const [root, , child] = listSpans(request!)
    expect(root).toMatchObject({ kind: 'SPAN_KIND_CLIENT', parentSpanId: '00f067aa0ba902b7' })
    expect(readAttributes(root)).toMatchObject({ 'gen_ai.usage.cost': 0.00000015, 'user.id': 'user-1' })
    expect(child?.status).toEqual({ code: 'STATUS_CODE_ERROR', message: 'overloaded' })
  })
})

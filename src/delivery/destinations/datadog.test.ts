import { afterAll, beforeEach, expect, test } from 'bun:test'
import { z } from 'zod'
import { TestDestination } from '../../../test/support/deliver.ts'
import { eventTime, newGenerationEvent, newPrivateEvent } from '../../../test/support/generation-event.ts'
import { startReceiver } from '../../../test/support/receiver.ts'
import { measureJson } from './bounds.ts'
import { datadog } from './datadog.ts'

/** Schema from the reference of the LLM Observability API; `tool_calls` and the cost are on the pages of its SDKs. */
const message = z.strictObject({
  content: z.string(),
  role: z.string().optional(),
  tool_calls: z
    .array(
      z.strictObject({
        name: z.string(),
        arguments: z.record(z.string(), z.unknown()),
        tool_id: z.string(),
        type: z.string(),
      }),
    )
    .optional(),
})
const content = z.strictObject({ value: z.string().optional(), messages: z.array(message).optional() })
const metrics = z.partialRecord(
  z.enum([
    'input_tokens',
    'output_tokens',
    'total_tokens',
    'time_to_first_token',
    'non_cached_input_tokens',
    'cache_read_input_tokens',
    'cache_write_input_tokens',
    'reasoning_output_tokens',
    'total_cost',
  ]),
  z.number(),
)
const span = z.strictObject({
  name: z.string().min(1),
  span_id: z.string().regex(/^\d{1,20}$/),
  trace_id: z.string().regex(/^[0-9a-f]{32}$/),
  parent_id: z.string().regex(/^(\d{1,20}|undefined)$/),
  start_ns: z.number().refine(Number.isInteger),
  duration: z.number().min(0),
  status: z.enum(['ok', 'error']),
  session_id: z.string().optional(),
  tags: z.array(
    z
      .string()
      .regex(/^[a-z_]+:/)
      .max(200),
  ),
  meta: z.strictObject({
    kind: z.enum(['agent', 'workflow', 'llm', 'tool', 'task', 'embedding', 'retrieval']),
    error: z.strictObject({ message: z.string(), type: z.string().optional() }).optional(),
    input: content.optional(),
    output: content.optional(),
    metadata: z.record(z.string(), z.union([z.number(), z.boolean(), z.string()])),
  }),
  metrics: metrics.optional(),
})
const payload = z.strictObject({
  data: z.strictObject({
    type: z.literal('span'),
    attributes: z.strictObject({
      ml_app: z.string(),
      tags: z.array(z.string()),
      spans: z.array(span).min(1),
    }),
  }),
})

const receiver = startReceiver(({ method, path, headers, body }) => {
  if (headers['dd-api-key'] !== 'the-key') return new Response('{"errors":["Forbidden"]}', { status: 403 })
  if (method === 'GET' && path === '/api/v1/validate') return Response.json({ valid: true })
  if (method !== 'POST' || path !== '/api/intake/llm-obs/v1/trace/spans')
    return new Response(null, { status: 404 })
  const parsed = payload.safeParse(JSON.parse(body))
  if (headers['content-type'] !== 'application/json' || !parsed.success)
    return new Response(parsed.error?.message ?? 'content type', { status: 400 })
  return new Response(null, { status: 202 })
})
afterAll(receiver.stop)
beforeEach(() => void receiver.requests.splice(0))

const config = { apiKey: 'the-key', mlApp: 'gateway', url: receiver.origin }
const destination = new TestDestination(datadog, config)
const accepted = { status: 202, body: '', failure: undefined }

async function readSpans() {
  return payload.parse(JSON.parse(receiver.requests[0]?.body ?? '')).data.attributes
}

test('a generation is a workflow with the model and the stages below it', async () => {
  expect(await destination.deliver([newGenerationEvent()])).toEqual(accepted)
  const { ml_app, spans } = await readSpans()
  expect(ml_app).toBe('gateway')
  const [root, model, route, attempt] = spans
  const rootId = BigInt('0xb7ad6b7169203331').toString()
  expect(root).toEqual({
    trace_id: '0af7651916cd43dd8448eb211c80319c',
    span_id: rootId,
    parent_id: BigInt('0x00f067aa0ba902b7').toString(),
    name: 'checkout',
    start_ns: eventTime * 1e6,
    duration: 1.5e9,
    status: 'ok',
    session_id: 'session-1',
    tags: ['provider:openai', 'model:openai/gpt-5-mini', 'user_id:user-1', 'api_key_name:Key of Ann / prod'],
    meta: {
      kind: 'workflow',
      input: { value: "How's the weather in 'Rome'; DROP TABLE x; --?" },
      output: { value: 'Sunny ☀️' },
      metadata: { team: 'blue', $set: '{"email":"a@example.com"}' },
    },
    metrics: { time_to_first_token: 0.4 },
  })
  expect(model).toMatchObject({
    parent_id: rootId,
    name: 'draft',
    meta: {
      kind: 'llm',
      input: {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: "How's the weather in 'Rome'; DROP TABLE x; --?" },
        ],
      },
      output: {
        messages: [
          { role: 'reasoning', content: 'Look it up.' },
          {
            role: 'assistant',
            content: 'Sunny ☀️',
            tool_calls: [
              { name: 'weather', arguments: { city: 'Rome' }, tool_id: 'call_1', type: 'function' },
            ],
          },
        ],
      },
      metadata: {
        model_name: 'openai/gpt-5-mini',
        model_provider: 'openai',
        temperature: 0.5,
        max_tokens: 100,
        stop: '["END"]',
        generation_id: 'gen_1',
        finish_reason: 'stop',
        api_key_hash: 'abc',
        request_id: 'req_1',
      },
    },
    metrics: {
      input_tokens: 120,
      output_tokens: 30,
      total_tokens: 150,
      non_cached_input_tokens: 50,
      cache_read_input_tokens: 50,
      cache_write_input_tokens: 20,
      reasoning_output_tokens: 10,
      total_cost: 1.5e-7,
    },
  })
  expect(route).toMatchObject({
    parent_id: rootId,
    name: 'route',
    status: 'ok',
    duration: 2e6,
    meta: { kind: 'task' },
  })
  expect(attempt).toMatchObject({
    parent_id: rootId,
    status: 'error',
    meta: { kind: 'task', error: { message: 'overloaded' }, metadata: { provider: 'openai', status: 503 } },
  })
  expect(new Set(spans.map(({ span_id }) => span_id)).size).toBe(4)
})

test('content, cost, identity and context are absent where the event has none', async () => {
  const error = { code: 'timeout', message: 'Too slow' }
  expect(await destination.deliver([newPrivateEvent({ status: 'failed', error })])).toEqual(accepted)
  const [root, model] = (await readSpans()).spans
  expect(root).toMatchObject({ parent_id: 'undefined', name: 'chat', status: 'error' })
  expect(root?.meta).toMatchObject({ error: { type: 'timeout', message: 'Too slow' } })
  const text = JSON.stringify([root, model])
  for (const absent of [
    '"input"',
    '"output"',
    'session_id',
    'total_cost',
    'api_key',
    'member',
    'user_id',
    'request_id',
  ])
    expect(text).not.toContain(absent)
})

test('an embedding has its own kind', async () => {
  await destination.deliver([newGenerationEvent({ operation: 'embeddings', input: { prompt: 'Rome' } })])
  const [, model] = (await readSpans()).spans
  expect(model?.meta).toMatchObject({
    kind: 'embedding',
    input: { messages: [{ role: 'user', content: 'Rome' }] },
  })
})

test('messages of every format become text', async () => {
  const messages = [
    { role: 'user', parts: [{ text: 'from Gemini' }] },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'from' },
        { type: 'input_text', text: 'Responses' },
      ],
    },
    { type: 'function_call_output', call_id: 'c', output: '42' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'add', input: { a: 1 } }] },
    'bare',
  ]
  await destination.deliver([newGenerationEvent({ input: { messages } })])
  const [, model] = (await readSpans()).spans
  expect(model?.meta.input?.messages).toEqual([
    { role: 'user', content: 'from Gemini' },
    { role: 'user', content: 'from\nResponses' },
    { role: 'user', content: '{"type":"function_call_output","call_id":"c","output":"42"}' },
    { role: 'assistant', content: '{"content":[{"type":"tool_use","id":"t","name":"add","input":{"a":1}}]}' },
    { role: 'user', content: 'bare' },
  ])
})

test('a span stays below 1 MB', async () => {
  const text = '"\u0001'.repeat(400_000)
  const event = newGenerationEvent({
    input: { messages: [{ role: 'user', content: text }] },
    output: { completion: text, reasoning: text, tool_calls: [{ id: 'c', name: 'n', arguments: text }] },
    parameters: { stop: text },
    error: { code: 'x', message: text },
    externalUser: text,
    sessionId: text,
  })
  event.trace.metadata = { text }
  event.trace.traceName = text
  expect(await destination.deliver([event])).toEqual(accepted)
  const { spans } = await readSpans()
  for (const one of spans) expect(measureJson(one)).toBeLessThan(1_000_000)
})

test('of too many messages, the first and the last are sent', async () => {
  const messages = Array.from({ length: 50_000 }, (_, index) => ({
    role: 'user',
    content: `message ${index}`,
  }))
  expect(await destination.deliver([newGenerationEvent({ input: { messages } })])).toEqual(accepted)
  const [, model] = (await readSpans()).spans
  const sent = model?.meta.input?.messages ?? []
  expect(sent).toHaveLength(1001)
  expect([sent[0], sent[500], sent.at(-1)]).toEqual([
    { role: 'user', content: 'message 0' },
    { role: 'user', content: '... [truncated]' },
    { role: 'user', content: 'message 49999' },
  ])
})

test('a repeated delivery is the same request', async () => {
  const events = [newGenerationEvent(), newGenerationEvent({ id: 'gen_2' })]
  expect(await destination.encode(...events)).toEqual(await destination.encode(...events))
})

test('the connection test validates the key', async () => {
  expect((await destination.probe()).status).toBe(200)
  expect((await new TestDestination(datadog, { ...config, apiKey: 'wrong' }).probe()).status).toBe(403)
})

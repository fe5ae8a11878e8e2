import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { TestDestination } from '../../../test/support/deliver.ts'
import { newGenerationEvent, newPrivateEvent } from '../../../test/support/generation-event.ts'
import { startReceiver } from '../../../test/support/receiver.ts'
import { measureJson } from './bounds.ts'
import { posthog } from './posthog.ts'

/** Schema from the pages on the capture API and on manual capture for LLM analytics. */
const identifiers = {
  // These characters only.
  $ai_trace_id: z.string().regex(/^[\w\-~.@()!':|]+$/),
  $ai_session_id: z.string().optional(),
  $session_id: z.uuid().optional(),
  $process_person_profile: z.literal(false).optional(),
}
const outcome = {
  $ai_span_id: z.string(),
  $ai_parent_id: z.string(),
  $ai_span_name: z.string(),
  $ai_latency: z.number(),
  $ai_is_error: z.boolean(),
  $ai_error: z.unknown().optional(),
}
/** Names with a dollar sign are PostHog's. */
const ownProperty = z.string().regex(/^[a-z_]+(\.|$)/)
const capture = (event: string, properties: z.ZodRawShape) =>
  z.strictObject({
    event: z.literal(event),
    uuid: z.uuid(),
    distinct_id: z.string().min(1).max(200),
    timestamp: z.iso.datetime(),
    properties: z
      .object({ ...identifiers, ...properties })
      .catchall(z.unknown())
      .refine(
        (all) =>
          Object.keys(all).every(
            (name) => name in identifiers || name in properties || ownProperty.safeParse(name).success,
          ),
        'has a property that is not documented',
      ),
  })
const generation = {
  ...outcome,
  $ai_model: z.string(),
  $ai_provider: z.string(),
  $ai_input: z.array(z.object({ role: z.string(), content: z.unknown() })).optional(),
  $ai_output_choices: z
    .array(z.strictObject({ role: z.literal('assistant'), content: z.array(z.object({ type: z.string() })) }))
    .optional(),
  $ai_input_tokens: z.number().int(),
  $ai_output_tokens: z.number().int(),
  $ai_reasoning_tokens: z.number().int(),
  $ai_cache_read_input_tokens: z.number().int(),
  $ai_cache_creation_input_tokens: z.number().int(),
  $ai_total_cost_usd: z.number().optional(),
  $ai_time_to_first_token: z.number().optional(),
  $ai_temperature: z.number().optional(),
  $ai_max_tokens: z.number().optional(),
  $ai_stream: z.boolean(),
  $ai_model_parameters: z.object(),
}
const payload = z.strictObject({
  api_key: z.literal('phc_key'),
  batch: z
    .array(
      z.union([
        capture('$ai_generation', generation),
        capture('$ai_embedding', generation),
        capture('$ai_span', outcome),
        capture('$ai_trace', { $ai_span_name: z.string() }),
        z.object({ event: z.literal('headgate connection test'), distinct_id: z.string() }),
      ]),
    )
    .min(1),
})

let response: object = { status: 'Ok' }
const receiver = startReceiver(({ method, path, headers, body }) => {
  if (method !== 'POST' || path !== '/batch/') return new Response(null, { status: 404 })
  const parsed = payload.safeParse(JSON.parse(body))
  if (headers['content-type'] !== 'application/json' || !parsed.success)
    return new Response(JSON.stringify(parsed.error?.issues), { status: 400 })
  return Response.json(response)
})
afterAll(receiver.stop)
beforeEach(() => {
  receiver.requests.splice(0)
  response = { status: 'Ok' }
})

const destination = new TestDestination(posthog, { apiKey: 'phc_key', endpoint: receiver.origin })
const accepted = { status: 200, body: '{"status":"Ok"}', failure: undefined }

interface Captured {
  event: string
  uuid: string
  distinct_id: string
  timestamp: string
  properties: Record<string, unknown>
}

function readBatch(): Captured[] {
  return JSON.parse(receiver.requests[0]?.body ?? '').batch
}

test('a generation is an event, its stages and the name of its trace are others', async () => {
  expect(await destination.deliver([newGenerationEvent()])).toEqual(accepted)
  const [generated, route, attempt, trace] = readBatch()
  expect(generated).toMatchObject({
    event: '$ai_generation',
    distinct_id: 'user-1',
    timestamp: '2026-11-16T10:00:00.250Z',
    properties: {
      $ai_trace_id: '0af7651916cd43dd8448eb211c80319c',
      $ai_span_id: 'b7ad6b7169203331',
      $ai_parent_id: '00f067aa0ba902b7',
      $ai_span_name: 'draft',
      $ai_session_id: 'session-1',
      $ai_model: 'openai/gpt-5-mini',
      $ai_provider: 'openai',
      $ai_input_tokens: 120,
      $ai_output_tokens: 30,
      $ai_latency: 1.5,
      $ai_time_to_first_token: 0.4,
      $ai_total_cost_usd: 1.5e-7,
      $ai_temperature: 0.5,
      $ai_is_error: false,
      $ai_output_choices: [
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Look it up.' },
            { type: 'text', text: 'Sunny ☀️' },
            { type: 'function', id: 'call_1', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
          ],
        },
      ],
      generation_id: 'gen_1',
      identity: { api_key_hash: 'abc' },
      context: { request_id: 'req_1' },
      'metadata.team': 'blue',
    },
  })
  expect(generated?.properties.$ai_input).toEqual(
    (newGenerationEvent().input as { messages: unknown[] }).messages,
  )
  expect(route).toMatchObject({
    event: '$ai_span',
    properties: { $ai_span_name: 'route', $ai_latency: 0.002 },
  })
  expect(attempt).toMatchObject({
    event: '$ai_span',
    properties: { $ai_parent_id: 'b7ad6b7169203331', $ai_is_error: true, $ai_error: 'overloaded' },
  })
  expect(trace).toMatchObject({ event: '$ai_trace', properties: { $ai_span_name: 'checkout' } })
})

test('the metadata of a client cannot set properties of PostHog', async () => {
  await destination.deliver([newGenerationEvent()])
  const [generated] = readBatch()
  expect(generated?.properties.$set).toBeUndefined()
  expect(generated?.properties['metadata.$set']).toEqual({ email: 'a@example.com' })
})

test('content, cost, identity and context are absent where the event has none', async () => {
  const error = { code: 'timeout', message: 'Too slow' }
  expect(await destination.deliver([newPrivateEvent({ status: 'failed', error })])).toEqual(accepted)
  const [generated, ...spans] = readBatch()
  expect(spans.map(({ event }) => event)).toEqual(['$ai_span', '$ai_span'])
  expect(generated).toMatchObject({
    distinct_id: '0af7651916cd43dd8448eb211c80319c',
    properties: {
      $process_person_profile: false,
      $ai_parent_id: '0af7651916cd43dd8448eb211c80319c',
      $ai_is_error: true,
      $ai_error: error,
    },
  })
  for (const absent of [
    '$ai_input',
    '$ai_output_choices',
    '$ai_total_cost_usd',
    '$ai_session_id',
    'cost',
    'identity',
    'context',
  ])
    expect(generated?.properties).not.toHaveProperty([absent])
})

test('a session of PostHog is linked', async () => {
  const sessionId = '019a69ad-a9e9-7a20-9540-40101e01a364'
  await destination.deliver([newGenerationEvent({ sessionId })])
  expect(readBatch()[0]?.properties).toMatchObject({ $session_id: sessionId, $ai_session_id: sessionId })
})

test('an embedding has its own event, and a prompt is a message', async () => {
  await destination.deliver([
    newGenerationEvent({ operation: 'embeddings', input: { prompt: 'Rome' }, output: null }),
  ])
  expect(readBatch()[0]).toMatchObject({
    event: '$ai_embedding',
    properties: { $ai_input: [{ role: 'user', content: 'Rome' }] },
  })
})

test('a repeated delivery has the same UUIDs, and every event its own', async () => {
  const other = newGenerationEvent({ id: 'gen_2' })
  const request = await destination.encode(newGenerationEvent(), other)
  expect(await destination.encode(newGenerationEvent(), other)).toEqual(request)
  await destination.deliver([newGenerationEvent(), other])
  const ids = readBatch().map(({ event, uuid }) => `${event} ${uuid}`)
  // The generations share their trace.
  expect(new Set(ids).size).toBe(ids.length - 1)
})

test('an event stays below 1 MB', async () => {
  const text = '"\u0001'.repeat(400_000)
  const event = newGenerationEvent({
    input: { prompt: text },
    output: { completion: text, reasoning: text, tool_calls: [] },
    parameters: { stop: text },
  })
  event.trace.metadata = { text }
  expect(await destination.deliver([event])).toEqual(accepted)
  for (const one of readBatch()) expect(measureJson(one)).toBeLessThan(1_000_000)
})

describe('a response', () => {
  test.each([
    [{ status: 1 }, undefined],
    [{ status: 'Ok' }, undefined],
    [{ status: 'Ok', quota_limited: ['events'] }, 'The quota of the project is used up: events.'],
  ])('%j is judged', async (body, failure) => {
    response = body
    expect(await destination.deliver([newGenerationEvent()])).toMatchObject({ status: 200, failure })
  })

  test('the connection test sends an event', async () => {
    expect(await destination.probe()).toMatchObject({ status: 200, failure: undefined })
    expect(readBatch()).toMatchObject([{ event: 'headgate connection test' }])
  })
})

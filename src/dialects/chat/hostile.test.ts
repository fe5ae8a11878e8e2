import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ReplyEvent } from '../../call/event.ts'
import { zeroUsage } from '../../call/usage.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { chat } from './chat.ts'
import { cost, factsFor, framesOf, targetFor } from './fixtures/given.ts'

/** Any JSON where a field may be, and often what belongs there. */
const odd = (usual: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) })
const record = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] })
const words = odd(fc.constantFrom('', 'a', ' "b"', '}]}', '\\'))

const toolCall = record({
  index: odd(fc.nat(2)),
  id: odd(fc.constantFrom('c1', 'c2', '')),
  type: odd(fc.constantFrom('function', 'custom')),
  function: odd(record({ name: words, arguments: words })),
  custom: odd(record({ name: words, input: words })),
})
const detail = record({
  type: odd(
    fc.constantFrom(
      'reasoning.text',
      'reasoning.summary',
      'reasoning.encrypted',
      'reasoning.server_tool_call',
    ),
  ),
  text: words,
  summary: words,
  data: words,
  signature: words,
  id: odd(fc.constantFrom('r1', 'r2')),
  format: odd(fc.constantFrom('vendor_a-v1', 'vendor_c-v1', 'unknown')),
  index: odd(fc.nat(3)),
})
const said = record({
  role: words,
  content: odd(
    fc.oneof(words, fc.array(odd(record({ type: words, text: words, thinking: words })), { maxLength: 2 })),
  ),
  reasoning: words,
  reasoning_content: words,
  reasoning_details: odd(fc.array(odd(detail), { maxLength: 3 })),
  refusal: words,
  tool_calls: odd(fc.array(odd(toolCall), { maxLength: 3 })),
  function_call: odd(record({ name: words, arguments: words })),
  audio: odd(record({ id: words, data: words, transcript: words })),
  images: odd(fc.array(odd(record({ image_url: odd(record({ url: words })) })), { maxLength: 2 })),
  annotations: odd(
    fc.array(odd(record({ url_citation: odd(record({ url: words, start_index: odd(fc.nat()) })) }))),
  ),
})
const choice = record({
  index: odd(fc.nat(1)),
  delta: odd(said),
  message: odd(said),
  finish_reason: odd(fc.constantFrom(null, 'stop', 'tool_calls')),
  logprobs: odd(record({ content: odd(fc.array(odd(record({ token: words, logprob: odd(fc.double()) })))) })),
})
const chunk = record({
  id: words,
  model: words,
  created: odd(fc.nat()),
  choices: odd(fc.array(odd(choice), { maxLength: 2 })),
  usage: odd(
    record({ prompt_tokens: odd(fc.integer()), completion_tokens: odd(fc.nat()), cost: odd(fc.double()) }),
  ),
  citations: odd(fc.array(words)),
  search_results: odd(fc.array(odd(record({ url: words })))),
})

/** Parts start in order, get deltas only while they are open, and all end. */
function checkGrammar(events: ReplyEvent[]): void {
  const open = new Map<string, boolean>()
  const counts = new Map<number, number>()
  for (const event of events) {
    if (event.type === 'part-start') {
      const next = counts.get(event.choice) ?? 0
      expect(event.part).toBe(next)
      counts.set(event.choice, next + 1)
      open.set(`${event.choice} ${event.part}`, true)
    } else if (event.type === 'part-delta' || event.type === 'part-end') {
      expect(open.get(`${event.choice} ${event.part}`)).toBe(true)
      if (event.type === 'part-end') open.set(`${event.choice} ${event.part}`, false)
    }
  }
  expect([...open.values()]).not.toContain(true)
}

describe('whatever an upstream sends', () => {
  test('the reader reads, and its events are in order', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 6 }), fc.boolean(), (chunks, done) => {
        const reader = chat.upstream.createReader()
        const frames = chunks.map((value) => ({ event: '', data: JSON.stringify(value) }))
        if (done) frames.push({ event: '', data: '[DONE]' })
        checkGrammar([...frames.flatMap((frame) => reader.read(frame)), ...reader.end()])
      }),
      { numRuns: 300 },
    )
  })

  test('the relay passes only JSON with our own id', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 6 }), (chunks) => {
        const relay = chat.passthrough.createRelay(factsFor())
        const frames = chunks.map((value) => ({ event: '', data: JSON.stringify(value) }))
        const text = frames.map((frame) => relay.pass(frame)).join('') + relay.end(zeroUsage, cost)
        for (const { data } of framesOf(text)) {
          if (data !== '[DONE]')
            expect(JSON.parse(data)).toMatchObject({ id: 'gen-1763190000-Kx2', model: 'acme/large' })
        }
      }),
      { numRuns: 300 },
    )
  })

  test('whole replies and errors are read', () => {
    fc.assert(
      fc.property(
        chunk,
        fc.jsonValue({ maxDepth: 3 }),
        fc.integer({ min: 400, max: 599 }),
        (body, error, status) => {
          checkGrammar(chat.upstream.decodeReply(body as JsonObject))
          chat.passthrough.passReply(body as JsonObject, factsFor(), cost, zeroUsage)
          expect(chat.upstream.decodeError(status, error).message).not.toBe('')
        },
      ),
      { numRuns: 300 },
    )
  })
})

test('whatever a client sends is read, or refused with a 400 that names a field', () => {
  const message = record({
    role: odd(fc.constantFrom('system', 'user', 'assistant', 'tool', 'function')),
    content: odd(
      fc.oneof(
        words,
        fc.array(odd(record({ type: odd(fc.constantFrom('text', 'image_url', 'file')), text: words }))),
      ),
    ),
    tool_calls: odd(fc.array(odd(toolCall), { maxLength: 2 })),
    tool_call_id: words,
    reasoning_details: odd(fc.array(odd(detail), { maxLength: 3 })),
  })
  const body = record({
    messages: odd(fc.array(odd(message), { minLength: 1, maxLength: 4 })),
    tools: odd(fc.array(odd(record({ type: words, function: odd(record({ name: words })) })))),
    tool_choice: fc.jsonValue(),
    response_format: fc.jsonValue(),
    stop: fc.jsonValue(),
    reasoning: fc.jsonValue(),
    temperature: odd(fc.double()),
  })
  fc.assert(
    fc.property(body, (given) => {
      try {
        chat.upstream.encodeRequest(chat.client.decodeRequest(given as JsonObject), targetFor())
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError)
        expect((error as GatewayError).row.status).toBe(400)
      }
      chat.passthrough.passRequest(given as JsonObject, targetFor())
    }),
    { numRuns: 300 },
  )
})

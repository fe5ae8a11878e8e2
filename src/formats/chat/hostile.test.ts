import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { cost, createContext, createTarget, parseFrames } from '../../../test/formats/fixtures/chat.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ReplyEvent } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import { chat } from './chat.ts'

/** Mostly a value of the right type, sometimes any JSON. */
const maybeInvalid = (valid: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 4, arbitrary: valid }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) })
const record = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] })
const anyText = maybeInvalid(fc.constantFrom('', 'a', ' "b"', '}]}', '\\'))

const toolCall = record({
  index: maybeInvalid(fc.nat(2)),
  id: maybeInvalid(fc.constantFrom('c1', 'c2', '')),
  type: maybeInvalid(fc.constantFrom('function', 'custom')),
  function: maybeInvalid(record({ name: anyText, arguments: anyText })),
  custom: maybeInvalid(record({ name: anyText, input: anyText })),
})
const detail = record({
  type: maybeInvalid(
    fc.constantFrom(
      'reasoning.text',
      'reasoning.summary',
      'reasoning.encrypted',
      'reasoning.server_tool_call',
    ),
  ),
  text: anyText,
  summary: anyText,
  data: anyText,
  signature: anyText,
  id: maybeInvalid(fc.constantFrom('r1', 'r2')),
  format: maybeInvalid(fc.constantFrom('vendor_a-v1', 'vendor_c-v1', 'unknown')),
  index: maybeInvalid(fc.nat(3)),
})
const anyMessage = record({
  role: anyText,
  content: maybeInvalid(
    fc.oneof(
      anyText,
      fc.array(maybeInvalid(record({ type: anyText, text: anyText, thinking: anyText })), { maxLength: 2 }),
    ),
  ),
  reasoning: anyText,
  reasoning_content: anyText,
  reasoning_details: maybeInvalid(fc.array(maybeInvalid(detail), { maxLength: 3 })),
  refusal: anyText,
  tool_calls: maybeInvalid(fc.array(maybeInvalid(toolCall), { maxLength: 3 })),
  function_call: maybeInvalid(record({ name: anyText, arguments: anyText })),
  audio: maybeInvalid(record({ id: anyText, data: anyText, transcript: anyText })),
  images: maybeInvalid(
    fc.array(maybeInvalid(record({ image_url: maybeInvalid(record({ url: anyText })) })), { maxLength: 2 }),
  ),
  annotations: maybeInvalid(
    fc.array(
      maybeInvalid(
        record({ url_citation: maybeInvalid(record({ url: anyText, start_index: maybeInvalid(fc.nat()) })) }),
      ),
    ),
  ),
})
const choice = record({
  index: maybeInvalid(fc.nat(1)),
  delta: maybeInvalid(anyMessage),
  message: maybeInvalid(anyMessage),
  finish_reason: maybeInvalid(fc.constantFrom(null, 'stop', 'tool_calls')),
  logprobs: maybeInvalid(
    record({
      content: maybeInvalid(
        fc.array(maybeInvalid(record({ token: anyText, logprob: maybeInvalid(fc.double()) }))),
      ),
    }),
  ),
})
const chunk = record({
  id: anyText,
  model: anyText,
  created: maybeInvalid(fc.nat()),
  choices: maybeInvalid(fc.array(maybeInvalid(choice), { maxLength: 2 })),
  usage: maybeInvalid(
    record({
      prompt_tokens: maybeInvalid(fc.integer()),
      completion_tokens: maybeInvalid(fc.nat()),
      cost: maybeInvalid(fc.double()),
    }),
  ),
  citations: maybeInvalid(fc.array(anyText)),
  search_results: maybeInvalid(fc.array(maybeInvalid(record({ url: anyText })))),
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

describe('hostile upstream data', () => {
  test('is read into events in order', () => {
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

  test('is relayed only as JSON with the gateway id', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 6 }), (chunks) => {
        const relay = chat.passthrough.createRelay(createContext())
        const frames = chunks.map((value) => ({ event: '', data: JSON.stringify(value) }))
        const text = frames.map((frame) => relay.pass(frame)).join('') + relay.end(zeroUsage, cost)
        for (const { data } of parseFrames(text)) {
          if (data !== '[DONE]')
            expect(JSON.parse(data)).toMatchObject({ id: 'gen-1763190000-Kx2', model: 'acme/large' })
        }
      }),
      { numRuns: 300 },
    )
  })

  test('is read in whole replies and errors', () => {
    fc.assert(
      fc.property(
        chunk,
        fc.jsonValue({ maxDepth: 3 }),
        fc.integer({ min: 400, max: 599 }),
        (body, error, status) => {
          checkGrammar(chat.upstream.decodeReply(body as JsonObject))
          chat.passthrough.passReply(body as JsonObject, createContext(), cost, zeroUsage)
          expect(chat.upstream.decodeError(status, error).message).not.toBe('')
        },
      ),
      { numRuns: 300 },
    )
  })
})

test('hostile requests are decoded, or rejected with a 400 that names a field', () => {
  const message = record({
    role: maybeInvalid(fc.constantFrom('system', 'user', 'assistant', 'tool', 'function')),
    content: maybeInvalid(
      fc.oneof(
        anyText,
        fc.array(
          maybeInvalid(
            record({ type: maybeInvalid(fc.constantFrom('text', 'image_url', 'file')), text: anyText }),
          ),
        ),
      ),
    ),
    tool_calls: maybeInvalid(fc.array(maybeInvalid(toolCall), { maxLength: 2 })),
    tool_call_id: anyText,
    reasoning_details: maybeInvalid(fc.array(maybeInvalid(detail), { maxLength: 3 })),
  })
  const body = record({
    messages: maybeInvalid(fc.array(maybeInvalid(message), { minLength: 1, maxLength: 4 })),
    tools: maybeInvalid(
      fc.array(maybeInvalid(record({ type: anyText, function: maybeInvalid(record({ name: anyText })) }))),
    ),
    tool_choice: fc.jsonValue(),
    response_format: fc.jsonValue(),
    stop: fc.jsonValue(),
    reasoning: fc.jsonValue(),
    temperature: maybeInvalid(fc.double()),
  })
  fc.assert(
    fc.property(body, (input) => {
      try {
        chat.upstream.encodeRequest(chat.client.decodeRequest(input as JsonObject), createTarget())
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError)
        expect((error as GatewayError).row.status).toBe(400)
      }
      chat.passthrough.passRequest(input as JsonObject, createTarget())
    }),
    { numRuns: 300 },
  )
})

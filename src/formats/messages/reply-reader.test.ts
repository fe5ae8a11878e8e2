import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { readEvents, readFixture, readJsonFixture } from '../../../test/formats/fixtures/messages.ts'
import { collectReply } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import { messages } from './messages.ts'

const { decodeReply, createReader } = messages.upstream
const stream = readFixture('thinking-tools.sse')
const read = (...events: object[]) => {
  const reader = createReader()
  return collectReply(events.flatMap((event) => reader.read({ event: '', data: JSON.stringify(event) })))
}

describe('a streamed reply', () => {
  test('R29: thinking, its signature, redacted thinking, text and tool calls', () => {
    const reply = collectReply(readEvents(stream))
    expect(reply.start).toEqual({
      type: 'reply-start',
      id: 'msg_01HarbourPilotTideTable01',
      model: 'claude-opus-4-6',
      serviceTier: 'default',
    })
    expect(reply.choices[0]?.parts).toEqual([
      {
        kind: 'reasoning',
        text: 'The tide and the wind are two questions: ask both 🌊.',
        summary: [],
        signature: 'EqQBCkYIBxgCIkDvZ2l2ZW4gc2lnbmF0dXJl+/==',
        format: 'vendor_a-v1',
      },
      {
        kind: 'reasoning',
        text: '',
        summary: [],
        encrypted: 'EmwKAhgBEgyZWRhY3RlZA==',
        format: 'vendor_a-v1',
      },
      { kind: 'text', text: "I'll look up the tide and the wind — one moment…" },
      {
        kind: 'tool-call',
        id: 'toolu_01TideTideTideTide',
        name: 'tide_table',
        arguments: '{"harbour": "Le Havre", "days": 2}',
      },
      { kind: 'tool-call', id: 'toolu_02WindWindWindWind', name: 'wind_now', arguments: '{}' },
    ])
    expect(reply.choices[0]?.end).toMatchObject({ reason: 'tool_calls', native: 'tool_use' })
    expect(reply.isComplete).toBe(true)
  })

  test('R9: usage has disjoint counts from the last report of the vendor', () => {
    const usage = { ...zeroUsage, input: 45, cacheRead: 8000, cacheWrite: 200, cacheWrite1h: 1000 }
    expect(collectReply(readEvents(stream)).usage).toEqual({ ...usage, output: 100, reasoning: 20 })
  })

  test('equals the same reply without streaming', () => {
    const [streamed, whole] = [
      collectReply(readEvents(stream)),
      collectReply(decodeReply(readJsonFixture('whole.json'))),
    ]
    const parsed = (reply: typeof whole) =>
      reply.choices[0]?.parts.map((part) =>
        part.kind === 'tool-call' ? { ...part, arguments: JSON.parse(part.arguments) } : part,
      )
    expect(parsed(streamed)).toEqual(parsed(whole))
    expect(streamed.usage).toEqual(whole.usage)
    expect(streamed.choices[0]?.end).toEqual(whole.choices[0]?.end)
  })

  test('searches, citations and compactions are preserved', () => {
    const reply = collectReply(readEvents(readFixture('web-search.sse')))
    const [call, searchResult, text, compaction] = reply.choices[0]?.parts ?? []
    expect(call).toMatchObject({
      kind: 'opaque',
      value: { type: 'server_tool_use', input: { query: 'first electric lighthouse' } },
    })
    expect(searchResult).toMatchObject({ kind: 'opaque', value: { type: 'web_search_tool_result' } })
    expect(text).toMatchObject({
      kind: 'text',
      citations: [{ url: 'https://lights.example/souter', title: 'Souter Lighthouse' }],
    })
    expect(compaction).toMatchObject({
      value: { type: 'compaction', content: 'So far: lighthouses.', encrypted_content: 'EncCompaction' },
    })
    expect(reply.choices[0]?.end).toMatchObject({ reason: 'stop', native: 'pause_turn' })
    // The compaction is billed in addition to the totals.
    expect(reply.usage).toEqual({ ...zeroUsage, input: 6100, output: 128, webSearches: 1 })
  })

  test('R28: is the same wherever its bytes are split', () => {
    const whole = JSON.stringify(readEvents(stream))
    const size = new TextEncoder().encode(stream).length
    fc.assert(
      fc.property(fc.array(fc.nat(size), { maxLength: 12 }), (cuts) => {
        expect(JSON.stringify(readEvents(stream, cuts))).toBe(whole)
      }),
      { numRuns: 60 },
    )
  })

  test('R33: is never complete when it is truncated before its last event', () => {
    const bytes = new TextEncoder().encode(stream)
    const last = stream.lastIndexOf('{"type":"message_stop"}')
    for (let end = 0; end < new TextEncoder().encode(stream.slice(0, last)).length; end += 37) {
      const broken = new TextDecoder().decode(bytes.subarray(0, end))
      expect(collectReply(readEvents(broken)).isComplete).toBe(false)
    }
  })

  test('an error ends the reply as a failure', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const reply = read({ type: 'message_start', message: {} }, error, { type: 'message_stop' })
    expect(reply.failure).toMatchObject({
      kind: 'provider_overloaded',
      status: null,
      message: 'Overloaded',
      code: 'overloaded_error',
    })
    expect(reply.isComplete).toBe(false)
  })

  test('invalid JSON, unknown events and unexpected values never throw', () => {
    const reader = createReader()
    expect(reader.read({ event: 'novelty', data: '{"type":"novelty"}' })).toEqual([])
    expect(reader.read({ event: '', data: '{"type":"content_block_delta","index":9,"delta":7}' })).toEqual([])
    expect(reader.read({ event: '', data: '{"type":"message_start","message":[]}' })).toHaveLength(1)
    expect(reader.read({ event: '', data: '<html>' })).toMatchObject([{ type: 'reply-error' }])
  })

  test('invalid counts are ignored', () => {
    const usage = { input_tokens: -5, output_tokens: 1e18, cache_read_input_tokens: '7', iterations: [null] }
    expect(read({ type: 'message_delta', delta: {}, usage }).usage).toBeNull()
    const zero = { ...usage, output_tokens: 0 }
    expect(read({ type: 'message_delta', delta: {}, usage: zero }).usage).toEqual(zeroUsage)
  })

  test('input in the start event of a tool call is read', () => {
    const block = { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } }
    const reply = read(
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_stop', index: 0 },
    )
    expect(reply.choices[0]?.parts).toMatchObject([{ arguments: '{"a":1}' }])
  })

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['compaction', 'stop'],
    ['whatever_is_new', 'stop'],
  ])('%s is %s', (native, reason) => {
    const delta = { stop_reason: native, stop_sequence: 'END', stop_details: { explanation: 'why' } }
    expect(read({ type: 'message_delta', delta }).choices[0]?.end).toEqual({
      type: 'choice-end',
      choice: 0,
      reason: reason as 'stop',
      native,
      stopSequence: 'END',
      explanation: 'why',
    })
  })
})

test('a body that is not a reply is a failure', () => {
  expect(decodeReply({ hello: 1 })).toMatchObject([{ type: 'reply-error' }])
  const error = { type: 'error', error: { type: 'api_error', message: 'Internal' } }
  expect(decodeReply(error)).toMatchObject([
    { type: 'reply-error', failure: { kind: 'provider_unavailable', message: 'Internal' } },
  ])
})

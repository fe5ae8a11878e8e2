import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import {
  checkGrammar,
  collectStream,
  parseFrames,
  readEvents,
} from '../../../test/formats/fixtures/responses.ts'
import { SseReader } from '../../platform/http/sse.ts'
import { collectReply } from '../call/event.ts'
import { countCompletionTokens, countPromptTokens, zeroUsage } from '../call/usage.ts'
import { responses } from './responses.ts'
import { decodeUsage } from './usage.ts'

const fixture = (name: string) => readFileSync(join(import.meta.dir, 'fixtures', name), 'utf8')
const decodeWhole = (name: string) => collectReply(responses.upstream.decodeReply(JSON.parse(fixture(name))))
const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`

describe('reading a stream', () => {
  test('a full stream and the whole reply decode to the same', () => {
    const reply = collectStream(fixture('full.sse'))
    expect(reply).toEqual(decodeWhole('full.json'))
    expect(reply.isComplete).toBe(true)
    expect(reply.start).toMatchObject({ model: 'gpt-6-mini-2026-08-01', serviceTier: 'default' })
    expect(reply.choices[0]?.end).toMatchObject({ reason: 'tool_calls', native: 'completed' })
    expect(reply.choices[0]?.parts.map(({ kind }) => kind)).toEqual([
      'reasoning',
      'opaque',
      'text',
      'tool-call',
      'tool-call',
    ])
    expect(reply.choices[0]?.parts[0]).toMatchObject({
      id: 'rs_68f2c0ab9e10',
      encrypted: 'gAAAAABo8sCqV1-Zk0s8Xw_final==',
      summary: ['**Looking up**\n\nTwo cities.', '**Deciding**\n\nAsk both.'],
      format: 'vendor_b-responses-v1',
    })
    expect(reply.choices[0]?.parts[2]).toMatchObject({
      text: 'Sunny 🌞 today.',
      citations: [{ url: 'https://example.org/lisbon', start: 0, end: 5 }],
      logprobs: [{ token: 'Sunny', logprob: -0.01 }],
    })
    expect(reply.choices[0]?.parts[4]).toMatchObject({ id: 'call_bbb', arguments: '{"city":"Évora"}' })
    checkGrammar(fixture('full.sse'))
  })

  test('a stream without ids, indexes and deltas is read', () => {
    const reply = collectStream(fixture('bare.sse'))
    expect(reply).toEqual(decodeWhole('bare.json'))
    expect(reply.choices[0]?.end).toMatchObject({ reason: 'length', native: 'max_output_tokens' })
    expect(reply.choices[0]?.parts).toMatchObject([
      { kind: 'reasoning', text: 'Think.' },
      { kind: 'text', text: 'Hello there.' },
      { kind: 'refusal', text: 'Not that.' },
      { kind: 'tool-call', name: 'shell__run', arguments: '{}' },
      { kind: 'tool-call', name: 'apply_patch', arguments: '*** Begin\n', custom: true },
      { kind: 'image', source: { kind: 'data', mediaType: 'image/webp', data: 'aGk=' } },
    ])
  })

  test('the last event alone is enough', () => {
    const last = event({ type: 'response.completed', response: { ...JSON.parse(fixture('full.json')) } })
    expect(collectStream(last)).toEqual(decodeWhole('full.json'))
  })

  test('text deltas of an item that was never announced are read', () => {
    const reply = collectStream(
      event({ type: 'response.output_text.delta', item_id: 'm', delta: 'Hel' }) +
        event({ type: 'response.output_text.delta', item_id: 'm', delta: 'lo' }) +
        event({ type: 'response.completed', response: { output: [] } }),
    )
    expect(reply.choices[0]?.parts).toEqual([{ kind: 'text', text: 'Hello' }])
    expect(reply.isComplete).toBe(true)
  })

  test('inconsistent ids and content indexes do not duplicate text', () => {
    const item = { type: 'message', id: 'msg_a', content: [{ type: 'output_text', text: 'Hello' }] }
    const position = { output_index: 0, item_id: 'other' }
    const reply = collectStream(
      event({ type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } }) +
        event({ type: 'response.output_text.delta', ...position, content_index: 1, delta: 'Hel' }) +
        event({ type: 'response.output_text.delta', ...position, content_index: 1, delta: 'lo' }) +
        event({ type: 'response.output_item.done', output_index: 0, item }) +
        event({ type: 'response.completed', response: { output: [{ ...item, id: 'msg_b' }] } }),
    )
    expect(reply.choices[0]?.parts).toEqual([{ kind: 'text', text: 'Hello' }])
  })

  test('a frame without its last brace is repaired', () => {
    const frame = event({ type: 'response.completed', response: { output: [], metadata: {} } })
    expect(collectStream(frame.replace('}}}', '}}')).isComplete).toBe(true)
  })

  test('unknown events and fields are ignored', () => {
    const reply = collectStream(event({ type: 'response.novelty', x: 1 }) + event({ type: 'keepalive' }))
    expect(reply).toMatchObject({ failure: null, choices: [], isComplete: false })
  })

  test('R28 bytes may be split anywhere', () => {
    const bytes = new TextEncoder().encode(fixture('full.sse'))
    const expected = collectStream(fixture('full.sse'))
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const sse = new SseReader()
        const frames = places.slice(1).flatMap((end, index) => sse.push(bytes.subarray(places[index], end)))
        expect(collectReply(readEvents([...frames, ...sse.end()]))).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  test('R33 a stream that is cut off is never complete', () => {
    const frames = parseFrames(fixture('full.sse'))
    for (let count = 0; count < frames.length; count++) {
      expect(collectReply(readEvents(frames.slice(0, count))).isComplete).toBe(false)
    }
  })
})

describe('failures', () => {
  test('the error event in both forms, once', () => {
    const nested = event({ type: 'error', error: { code: 'insufficient_quota', message: 'No money.' } })
    const flat = event({ type: 'error', code: 'rate_limit_exceeded', message: 'Try again in 1.5s' })
    const failed = event({ type: 'response.failed', response: { error: { code: 'server_error' } } })
    expect(readEvents(parseFrames(nested + failed)).map(({ type }) => type)).toEqual(['reply-error'])
    expect(collectStream(nested).failure).toMatchObject({ kind: 'payment_required', message: 'No money.' })
    expect(collectStream(flat).failure).toMatchObject({ kind: 'rate_limit_exceeded', retryAfterMs: 1500 })
    expect(collectStream(failed).failure).toMatchObject({
      kind: 'provider_unavailable',
      code: 'server_error',
    })
  })

  test('an event that is not JSON, and an error without a type', () => {
    expect(collectStream('data: <html>\n\n').failure?.kind).toBe('provider_unavailable')
    expect(collectStream(event({ error: { code: 429, message: 'Slow' } })).failure?.kind).toBe(
      'rate_limit_exceeded',
    )
  })

  test('a body that is not a reply', () => {
    expect(decodeWhole('codex-request.json').failure?.kind).toBe('provider_unavailable')
    const failed = { status: 'failed', output: [], error: { code: 'invalid_prompt', message: 'No.' } }
    expect(collectReply(responses.upstream.decodeReply(failed)).failure?.kind).toBe('invalid_request')
  })

  test('HTTP errors', () => {
    const { decodeError } = responses.upstream
    const body = (error: unknown) => ({ error })
    expect(decodeError(400, body({ code: 'context_length_exceeded', message: 'long' })).kind).toBe(
      'context_length_exceeded',
    )
    expect(decodeError(429, body({ message: 'slow' }))).toMatchObject({ kind: 'rate_limit_exceeded' })
    expect(decodeError(502, '<html>bad gateway</html>')).toMatchObject({ kind: 'provider_unavailable' })
    expect(decodeError(404, { detail: 'gone' })).toMatchObject({ kind: 'not_found', message: 'gone' })
  })
})

describe('R9 usage', () => {
  test('the buckets sum to the totals', () => {
    const usage = collectStream(fixture('full.sse')).usage
    expect(usage).toMatchObject({ input: 112, cacheRead: 1024, cacheWrite: 64, output: 54, reasoning: 256 })
    expect(usage && countPromptTokens(usage)).toBe(1200)
    expect(usage && countCompletionTokens(usage)).toBe(310)
    expect(usage?.webSearches).toBe(1)
  })

  test('reasoning counted outside the output, and hostile numbers', () => {
    const counts = { input_tokens: 10, output_tokens: 5, total_tokens: 115 }
    const usage = decodeUsage({ ...counts, output_tokens_details: { reasoning_tokens: 100 } }, 0)
    expect(usage).toMatchObject({ output: 5, reasoning: 100 })
    expect(decodeUsage({ input_tokens: -1, output_tokens: 1e18 }, 0)).toBeNull()
    expect(decodeUsage({ input_tokens: -1, output_tokens: 0 }, 0)).toEqual(zeroUsage)
    expect(decodeUsage(null, 0)).toBeNull()
  })
})

test('R9 tokens written to a cache do not overlap those read from it', () => {
  const details = { cached_tokens: 2000, cache_write_tokens: 2400 }
  const usage = { input_tokens: 2600, input_tokens_details: details, output_tokens: 1, total_tokens: 2601 }
  expect(decodeUsage(usage, 0)).toMatchObject({ input: 200, cacheRead: 2000, cacheWrite: 400 })
})

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { collectReply } from '../../call/event.ts'
import { countCompletionTokens, countPromptTokens, zeroUsage } from '../../call/usage.ts'
import { SseReader } from '../../lib/sse.ts'
import { checkGrammar, collected, framesOf, readAll } from './fixtures/harness.ts'
import { responses } from './responses.ts'
import { decodeUsage } from './usage.ts'

const fixture = (name: string) => readFileSync(join(import.meta.dir, 'fixtures', name), 'utf8')
const whole = (name: string) => collectReply(responses.upstream.decodeReply(JSON.parse(fixture(name))))
const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`

describe('reading a stream', () => {
  test('a full stream and the whole reply come to the same', () => {
    const reply = collected(fixture('full.sse'))
    expect(reply).toEqual(whole('full.json'))
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

  test('a vendor that names and numbers nothing and sends no deltas is understood', () => {
    const reply = collected(fixture('bare.sse'))
    expect(reply).toEqual(whole('bare.json'))
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

  test('only the last event with everything in it is enough', () => {
    const last = event({ type: 'response.completed', response: { ...JSON.parse(fixture('full.json')) } })
    expect(collected(last)).toEqual(whole('full.json'))
  })

  test('text deltas for an item that was never announced count', () => {
    const reply = collected(
      event({ type: 'response.output_text.delta', item_id: 'm', delta: 'Hel' }) +
        event({ type: 'response.output_text.delta', item_id: 'm', delta: 'lo' }) +
        event({ type: 'response.completed', response: { output: [] } }),
    )
    expect(reply.choices[0]?.parts).toEqual([{ kind: 'text', text: 'Hello' }])
    expect(reply.isComplete).toBe(true)
  })

  test('a vendor that numbers contents and ids its own way says nothing twice', () => {
    const item = { type: 'message', id: 'msg_a', content: [{ type: 'output_text', text: 'Hello' }] }
    const place = { output_index: 0, item_id: 'other' }
    const reply = collected(
      event({ type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } }) +
        event({ type: 'response.output_text.delta', ...place, content_index: 1, delta: 'Hel' }) +
        event({ type: 'response.output_text.delta', ...place, content_index: 1, delta: 'lo' }) +
        event({ type: 'response.output_item.done', output_index: 0, item }) +
        event({ type: 'response.completed', response: { output: [{ ...item, id: 'msg_b' }] } }),
    )
    expect(reply.choices[0]?.parts).toEqual([{ kind: 'text', text: 'Hello' }])
  })

  test('a frame that lacks only its last brace is believed', () => {
    const frame = event({ type: 'response.completed', response: { output: [], metadata: {} } })
    expect(collected(frame.replace('}}}', '}}')).isComplete).toBe(true)
  })

  test('events and fields nobody knows are passed over', () => {
    const reply = collected(event({ type: 'response.novelty', x: 1 }) + event({ type: 'keepalive' }))
    expect(reply).toMatchObject({ failure: null, choices: [], isComplete: false })
  })

  test('R28 bytes may be split anywhere', () => {
    const bytes = new TextEncoder().encode(fixture('full.sse'))
    const expected = collected(fixture('full.sse'))
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const sse = new SseReader()
        const frames = places.slice(1).flatMap((end, index) => sse.push(bytes.subarray(places[index], end)))
        expect(collectReply(readAll([...frames, ...sse.end()]))).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  test('R33 a stream that breaks off is never complete', () => {
    const frames = framesOf(fixture('full.sse'))
    for (let kept = 0; kept < frames.length; kept++) {
      expect(collectReply(readAll(frames.slice(0, kept))).isComplete).toBe(false)
    }
  })
})

describe('failures', () => {
  test('the error event in both of its forms, once', () => {
    const nested = event({ type: 'error', error: { code: 'insufficient_quota', message: 'No money.' } })
    const flat = event({ type: 'error', code: 'rate_limit_exceeded', message: 'Try again in 1.5s' })
    const failed = event({ type: 'response.failed', response: { error: { code: 'server_error' } } })
    expect(readAll(framesOf(nested + failed)).map(({ type }) => type)).toEqual(['reply-error'])
    expect(collected(nested).failure).toMatchObject({ kind: 'payment_required', message: 'No money.' })
    expect(collected(flat).failure).toMatchObject({ kind: 'rate_limit_exceeded', retryAfterMs: 1500 })
    expect(collected(failed).failure).toMatchObject({ kind: 'provider_unavailable', code: 'server_error' })
  })

  test('what is not JSON, and an error without a type', () => {
    expect(collected('data: <html>\n\n').failure?.kind).toBe('provider_unavailable')
    expect(collected(event({ error: { code: 429, message: 'Slow' } })).failure?.kind).toBe(
      'rate_limit_exceeded',
    )
  })

  test('a body that is no reply', () => {
    expect(whole('codex-request.json').failure?.kind).toBe('provider_unavailable')
    const failed = { status: 'failed', output: [], error: { code: 'invalid_prompt', message: 'No.' } }
    expect(collectReply(responses.upstream.decodeReply(failed)).failure?.kind).toBe('invalid_request')
  })

  test('answers with a status', () => {
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
  test('the buckets add up to the totals', () => {
    const usage = collected(fixture('full.sse')).usage
    expect(usage).toMatchObject({ input: 112, cacheRead: 1024, cacheWrite: 64, output: 54, reasoning: 256 })
    expect(usage && countPromptTokens(usage)).toBe(1200)
    expect(usage && countCompletionTokens(usage)).toBe(310)
    expect(usage?.webSearches).toBe(1)
  })

  test('thinking counted beside the output, and hostile numbers', () => {
    const beside = { input_tokens: 10, output_tokens: 5, total_tokens: 115 }
    const usage = decodeUsage({ ...beside, output_tokens_details: { reasoning_tokens: 100 } }, 0)
    expect(usage).toMatchObject({ output: 5, reasoning: 100 })
    expect(decodeUsage({ input_tokens: -1, output_tokens: 1e18 }, 0)).toBeNull()
    expect(decodeUsage({ input_tokens: -1, output_tokens: 0 }, 0)).toEqual(zeroUsage)
    expect(decodeUsage(null, 0)).toBeNull()
  })
})

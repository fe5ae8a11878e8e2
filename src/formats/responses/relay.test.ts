import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  checkGrammar,
  collectStream,
  cost,
  createContext,
  parseFrames,
  readEvents,
} from '../../../test/formats/fixtures/responses.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { asObject } from '../../platform/json/json-values.ts'
import { responses } from './responses.ts'

const fixture = (name: string) => readFileSync(join(import.meta.dir, 'fixtures', name), 'utf8')
const body = { store: true, previous_response_id: 'resp_before', input: 'Hi' }

function relayed(name: string) {
  const relay = responses.passthrough.createRelay(createContext({}, body))
  const passed = parseFrames(fixture(name)).map((frame) => relay.pass(frame))
  const usage = relay.summary.usage
  if (!usage) throw new Error('no usage was recorded')
  return { relay, passed, text: passed.join('') + relay.end(usage, cost), usage }
}

describe('relaying a stream of the same wire format', () => {
  test('gives the same reply as decoding and writing it', () => {
    const { text, relay, usage } = relayed('full.sse')
    const writer = responses.client.createWriter(createContext({}, body))
    const written = readEvents(parseFrames(fixture('full.sse'))).map((event) => writer.write(event))
    const rewritten = collectStream(written.join('') + writer.end(usage, cost))
    const passed = collectStream(text)
    expect(passed.choices).toEqual(rewritten.choices)
    expect(passed.usage).toEqual(rewritten.usage)
    expect(passed.isComplete).toBe(true)
    expect(Object.keys(relay.finalBody ?? {})).toEqual(
      expect.arrayContaining(Object.keys(writer.finalBody ?? {})),
    )
  })

  test('the frames in between pass unmodified, with unknown fields', () => {
    const { text } = relayed('full.sse')
    checkGrammar(text)
    const lines = fixture('full.sse')
      .split('\n\n')
      .filter((frame) => frame.includes('obfuscation'))
    expect(lines.length).toBe(6)
    for (const line of lines) expect(text).toContain(line)
  })

  test('the response has the id, model and storage fields of the gateway', () => {
    const { text, relay } = relayed('full.sse')
    const ours = {
      id: 'resp_1790000000-abc',
      model: 'vendor/model',
      provider: 'Example',
      store: true,
      previous_response_id: 'resp_before',
    }
    for (const event of checkGrammar(text).filter(({ response }) => response)) {
      expect(event.response).toMatchObject(ours)
    }
    expect(relay.finalBody).toMatchObject({
      ...ours,
      prompt_cache_retention: null,
      output_text: 'Sunny 🌞 today.',
      usage: { input_tokens: 1200, cost: 0.002, is_byok: false },
    })
  })

  test('the last event is held until the cost is known', () => {
    const { passed, relay } = relayed('full.sse')
    expect(passed.join('')).not.toContain('response.completed')
    expect(relay.summary).toMatchObject({
      hasContent: true,
      isComplete: true,
      failure: null,
      finishReasons: [{ reason: 'tool_calls', native: 'completed' }],
      model: 'gpt-6-mini-2026-08-01',
    })
    expect(relay.summary.characters).toBeGreaterThan(60)
    expect(relay.summary.usage).toMatchObject({ cacheRead: 1024, webSearches: 1 })
  })

  test('missing sequence numbers and output are filled in', () => {
    const { text, relay } = relayed('bare.sse')
    const numbers = parseFrames(text).map(({ data }) => asObject(JSON.parse(data))?.sequence_number)
    expect(numbers).toEqual(numbers.map((_, index) => index))
    expect(relay.finalBody?.output).toHaveLength(5)
    expect(relay.finalBody).toMatchObject({ status: 'incomplete', tools: [], metadata: {} })
    expect(relay.summary.finishReasons).toEqual([{ reason: 'length', native: 'max_output_tokens' }])
  })

  test('R33 wherever it is cut off, the client gets an error and no success', () => {
    const frames = parseFrames(fixture('full.sse'))
    for (let count = 2; count < frames.length; count++) {
      const relay = responses.passthrough.createRelay(createContext())
      const text = frames
        .slice(0, count)
        .map((frame) => relay.pass(frame))
        .join('')
      expect(relay.summary.isComplete).toBe(false)
      const events = checkGrammar(text + relay.fail(gatewayError('internal')))
      expect(events.at(-2)?.type).toBe('error')
      expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } })
    }
  })

  test('excluded reasoning is removed, encrypted content stays', () => {
    const relay = responses.passthrough.createRelay(createContext({ reasoning: { exclude: true } }))
    const text = parseFrames(fixture('full.sse'))
      .map((frame) => relay.pass(frame))
      .join('')
    expect(text).not.toContain('Looking up')
    const last = relay.end(relay.summary.usage!, cost)
    expect(last).not.toContain('Looking up')
    expect(collectStream(text + last).choices[0]?.parts[0]).toMatchObject({
      encrypted: 'gAAAAABo8sCqV1-Zk0s8Xw_final==',
      summary: [],
    })
  })

  test('a failure of the vendor is held', () => {
    const relay = responses.passthrough.createRelay(createContext())
    const data = JSON.stringify({
      type: 'error',
      error: { code: 'rate_limit_exceeded', message: 'Slow down.' },
    })
    expect(relay.pass({ event: '', data })).toBe('')
    expect(relay.summary.failure).toMatchObject({ kind: 'rate_limit_exceeded', message: 'Slow down.' })
    const broken = responses.passthrough.createRelay(createContext())
    expect(broken.pass({ event: '', data: '<html>' })).toBe('')
    expect(broken.summary.failure?.kind).toBe('provider_unavailable')
    const failed = responses.passthrough.createRelay(createContext())
    failed.pass({ event: 'response.failed', data: '{"response":{"error":{"code":"server_error"}}}' })
    expect(failed.summary).toMatchObject({ isComplete: false, failure: { code: 'server_error' } })
  })

  test('a whole reply keeps unknown fields and gets the gateway fields and the cost', () => {
    const vendor = { ...JSON.parse(fixture('full.json')), novelty: { a: 1 } }
    const usage = relayed('full.sse').usage
    const passed = responses.passthrough.passReply(vendor, createContext({}, body), cost, usage)
    expect(passed).toMatchObject({
      novelty: { a: 1 },
      id: 'resp_1790000000-abc',
      store: true,
      output: vendor.output,
      usage: { input_tokens: 1200, output_tokens: 310, cost: 0.002 },
    })
  })
})

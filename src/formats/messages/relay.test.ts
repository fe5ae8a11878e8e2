import { describe, expect, test } from 'bun:test'
import {
  cost,
  createContext,
  readEvents,
  readFixture,
  readJsonFixture,
} from '../../../test/formats/fixtures/messages.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { SseReader } from '../../platform/http/sse.ts'
import { collectReply } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import { messages } from './messages.ts'

const { createRelay, passReply } = messages.passthrough

function relayStream(stream: string) {
  const relay = createRelay(createContext())
  const passed = new SseReader().push(new TextEncoder().encode(stream)).map((frame) => relay.pass(frame))
  return { relay, passed, text: passed.join('') }
}

describe('a relayed stream', () => {
  const stream = readFixture('thinking-tools.sse')

  test('has the same content, with the id, model and cost of the gateway', () => {
    for (const name of ['thinking-tools.sse', 'web-search.sse']) {
      const original = collectReply(readEvents(readFixture(name)))
      const { relay, text } = relayStream(readFixture(name))
      const whole = text + relay.end(relay.summary.usage ?? zeroUsage, cost)
      const received = collectReply(readEvents(whole))
      expect(received.choices).toEqual(original.choices)
      expect(received.usage).toEqual({ ...(original.usage ?? zeroUsage), reportedCost: cost.total })
      expect(received.start).toMatchObject({ id: 'gen-1731650000-tide', model: 'anthropic/claude-opus-4.6' })
      expect(received.isComplete).toBe(true)
      expect(relay.summary.usage).toEqual(original.usage)
    }
  })

  test('R31: blocks and unknown fields pass unchanged', () => {
    const blocks = (text: string) =>
      text.slice(text.indexOf('event: content_block_start'), text.lastIndexOf('event: message_delta'))
    const { relay, text } = relayStream(stream)
    const end = relay.end(zeroUsage, cost)
    expect(blocks(text + end)).toBe(blocks(stream))
    expect(end).toContain('"context_management":{"applied_edits":[]}')
    expect(text).toContain('"inference_geo":"global"')
  })

  test('holds its end back until settlement', () => {
    const { relay, passed } = relayStream(stream)
    expect(passed.slice(-2)).toEqual(['', ''])
    expect(relay.summary).toMatchObject({
      hasContent: true,
      isComplete: true,
      failure: null,
      finishReasons: [{ reason: 'tool_calls', native: 'tool_use' }],
      model: 'claude-opus-4-6',
    })
    expect(relay.summary.characters).toBeGreaterThan(100)
    expect(relay.end(zeroUsage, cost)).toContain('"cost":0.25')
  })

  test('an error of the upstream is recorded and not passed', () => {
    const { relay, text } = relayStream(
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    )
    expect(text).toBe('')
    expect(relay.summary.failure).toMatchObject({ kind: 'provider_overloaded' })
    expect(relay.fail(gatewayError('internal'))).toStartWith('event: error\n')
  })

  test('R33: a truncated frame is a failure, not content', () => {
    const relay = createRelay(createContext())
    expect(relay.pass({ event: '', data: '{"type":"content_block_delta","index":0,"del' })).toBe('')
    expect(relay.summary.failure).not.toBeNull()
  })

  test('frames without an event name get one, wherever the type is', () => {
    const relay = createRelay(createContext())
    expect(relay.pass({ event: '', data: '{"index":0,"type":"content_block_stop"}' })).toBe(
      'event: content_block_stop\ndata: {"index":0,"type":"content_block_stop"}\n\n',
    )
  })

  test('missing and invalid counts are replaced with counted ones', () => {
    const { relay } = relayStream(
      'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":-3}}\n\n',
    )
    expect(relay.end({ ...zeroUsage, input: 4, output: 9 }, cost)).toContain('"output_tokens":9')
  })
})

test('a whole reply passes with unknown fields and the id, model, provider and cost of the gateway', () => {
  const body = readJsonFixture('whole.json')
  const passed = passReply(body, createContext(), cost, zeroUsage)
  expect(passed).toMatchObject({
    ...body,
    id: 'gen-1731650000-tide',
    model: 'anthropic/claude-opus-4.6',
    provider: 'Harbour Cloud',
    container: null,
    usage: { ...(body.usage as object), cost: 0.25, is_byok: false },
  })
  expect(passed.content).toBe(body.content)
})

test('a start event that a proxy repeats reaches the client once, with its counts', () => {
  const frame = (type: string, fields: object) => ({ event: type, data: JSON.stringify({ type, ...fields }) })
  const start = (tokens: number) =>
    frame('message_start', { message: { id: 'm', model: 'v', content: [], usage: { input_tokens: tokens } } })
  const frames = [
    start(3),
    start(7),
    frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hi' } }),
    frame('content_block_stop', { index: 0 }),
    frame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
    frame('message_stop', {}),
  ]
  const relay = createRelay(createContext())
  const text = frames.map((each) => relay.pass(each)).join('')
  expect(text.split('event: message_start')).toHaveLength(2)
  expect(relay.summary.usage).toMatchObject({ input: 7, output: 1 })
  const reader = messages.upstream.createReader()
  const reply = collectReply(frames.flatMap((each) => reader.read(each)))
  expect(reply.choices[0]?.parts).toEqual([{ kind: 'text', text: 'Hi' }])
  expect(reply.usage).toMatchObject({ input: 7, output: 1 })
})

import { describe, expect, test } from 'bun:test'
import { collectReply } from '../../call/event.ts'
import { zeroUsage } from '../../call/usage.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import { SseReader } from '../../lib/sse.ts'
import { cost, createContext, readEvents, readFixture, readJsonFixture } from './fixtures/harness.ts'
import { messages } from './messages.ts'

const { createRelay, passReply } = messages.passthrough

function relayed(stream: string) {
  const one = createRelay(createContext())
  const passed = new SseReader().push(new TextEncoder().encode(stream)).map((frame) => one.pass(frame))
  return { one, passed, text: passed.join('') }
}

describe('a relayed stream', () => {
  const stream = readFixture('thinking-tools.sse')

  test('means what the written one means, with our id, model and bill', () => {
    for (const name of ['thinking-tools.sse', 'web-search.sse']) {
      const given = collectReply(readEvents(readFixture(name)))
      const { one, text } = relayed(readFixture(name))
      const whole = text + one.end(one.summary.usage ?? zeroUsage, cost)
      const back = collectReply(readEvents(whole))
      expect(back.choices).toEqual(given.choices)
      expect(back.usage).toEqual({ ...(given.usage ?? zeroUsage), reportedCost: cost.total })
      expect(back.start).toMatchObject({ id: 'gen-1731650000-tide', model: 'anthropic/claude-opus-4.6' })
      expect(back.isComplete).toBe(true)
      expect(one.summary.usage).toEqual(given.usage)
    }
  })

  test('R31: blocks pass byte for byte, and unknown fields of the frame around them too', () => {
    const blocks = (text: string) =>
      text.slice(text.indexOf('event: content_block_start'), text.lastIndexOf('event: message_delta'))
    const { one, text } = relayed(stream)
    const end = one.end(zeroUsage, cost)
    expect(blocks(text + end)).toBe(blocks(stream))
    expect(end).toContain('"context_management":{"applied_edits":[]}')
    expect(text).toContain('"inference_geo":"global"')
  })

  test('holds its end back until it is paid for', () => {
    const { one, passed } = relayed(stream)
    expect(passed.slice(-2)).toEqual(['', ''])
    expect(one.summary).toMatchObject({
      hasContent: true,
      isComplete: true,
      failure: null,
      finishReasons: [{ reason: 'tool_calls', native: 'tool_use' }],
      model: 'claude-opus-4-6',
    })
    expect(one.summary.characters).toBeGreaterThan(100)
    expect(one.end(zeroUsage, cost)).toContain('"cost":0.25')
  })

  test('an error of the upstream is noted and left to the gateway to say', () => {
    const { one, text } = relayed(
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    )
    expect(text).toBe('')
    expect(one.summary.failure).toMatchObject({ kind: 'provider_overloaded' })
    expect(one.fail(gatewayError('internal'))).toStartWith('event: error\n')
  })

  test('R33: a frame that is cut off is a failure, not content', () => {
    const one = createRelay(createContext())
    expect(one.pass({ event: '', data: '{"type":"content_block_delta","index":0,"del' })).toBe('')
    expect(one.summary.failure).not.toBeNull()
  })

  test('frames without a name get one; the type may stand anywhere', () => {
    const one = createRelay(createContext())
    expect(one.pass({ event: '', data: '{"index":0,"type":"content_block_stop"}' })).toBe(
      'event: content_block_stop\ndata: {"index":0,"type":"content_block_stop"}\n\n',
    )
  })

  test('usage that is absurd or missing is what was counted', () => {
    const { one } = relayed(
      'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":-3}}\n\n',
    )
    expect(one.end({ ...zeroUsage, input: 4, output: 9 }, cost)).toContain('"output_tokens":9')
  })
})

test('a whole reply passes with unknown fields, our id, model, provider and bill', () => {
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

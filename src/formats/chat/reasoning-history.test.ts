import { describe, expect, test } from 'bun:test'
import { createTarget } from '../../../test/formats/fixtures/chat.ts'
import type { ReasoningHistory } from '../../catalog/provider.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { Message } from '../call/call.ts'
import type { ReasoningFormat } from '../call/part.ts'
import { chat } from './chat.ts'

const reasoning = { efforts: null, budget: false }
const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }

const pass = (message: JsonObject, reasoningHistory: ReasoningHistory, isReasoning = true) => {
  const target = createTarget({ reasoningHistory, reasoning: isReasoning ? reasoning : null })
  const { body, dropped } = chat.passthrough.passRequest(
    { messages: [{ role: 'assistant', ...message }] },
    target,
  )
  return { message: (body.messages as JsonObject[])[0], dropped }
}

const encode = (parts: Message['parts'], reasoningHistory: ReasoningHistory) => {
  const call = { messages: [{ role: 'assistant' as const, parts }], stream: false, unknown: [] }
  const { body, dropped } = chat.upstream.encodeRequest(call, createTarget({ reasoningHistory, reasoning }))
  return { message: (body.messages as JsonObject[])[0], dropped }
}

const reasoningPart = (text: string, format: ReasoningFormat = 'unknown', signature?: string) => ({
  kind: 'reasoning' as const,
  text,
  summary: [],
  format,
  ...(signature !== undefined && { signature }),
})

describe('R29 unsigned reasoning of earlier turns', () => {
  const fields: [ReasoningHistory['field'], JsonObject, string[]][] = [
    ['reasoning_content', { content: 'Hi', reasoning_content: 'Hm' }, []],
    ['reasoning', { content: 'Hi', reasoning: 'Hm' }, []],
    [
      'reasoning_details',
      {
        content: 'Hi',
        reasoning_details: [{ type: 'reasoning.text', text: 'Hm', format: 'unknown', index: 0 }],
      },
      [],
    ],
    [
      'thinking',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
          { type: 'text', text: 'Hi' },
        ],
      },
      [],
    ],
    ['none', { content: 'Hi' }, ['reasoning']],
  ]
  const entry = { type: 'reasoning.text', text: 'Hm', format: 'unknown', index: 0 }
  const histories: [string, JsonObject][] = [
    ['reasoning', { content: 'Hi', reasoning: 'Hm' }],
    ['reasoning_content', { content: 'Hi', reasoning_content: 'Hm' }],
    ['reasoning_details', { content: 'Hi', reasoning_details: [entry] }],
    ['reasoning and reasoning_details', { content: 'Hi', reasoning: 'Hm', reasoning_details: [entry] }],
    [
      'parts of the content',
      {
        content: [
          { type: 'thinking', thinking: 'Hm' },
          { type: 'text', text: 'Hi' },
        ],
      },
    ],
  ]

  describe.each(fields)('for an upstream with the field %s', (field, expected, dropped) => {
    test.each(histories)('is passed from a client that sends %s', (_, history) => {
      const passed = pass(history, { field })
      if (Array.isArray(history.content) && field === 'thinking') {
        expect(passed.message).toEqual({ role: 'assistant', ...history })
        return
      }
      const content =
        Array.isArray(history.content) && expected.content === 'Hi' ? [history.content[1]] : expected.content
      expect(passed).toEqual({ message: { role: 'assistant', ...expected, content }, dropped })
    })

    test('is encoded from a client of another format', () => {
      const encoded = encode([reasoningPart('Hm'), { kind: 'text', text: 'Hi' }], { field })
      expect(encoded).toEqual({ message: { role: 'assistant', ...expected }, dropped })
    })
  })

  test('is dropped for a model without reasoning, which would reject it', () => {
    expect(pass({ content: 'Hi', reasoning_content: 'Hm' }, { field: 'reasoning' }, false)).toEqual({
      message: { role: 'assistant', content: 'Hi' },
      dropped: ['reasoning'],
    })
  })

  test("stays in the client's field if it is the upstream's own", () => {
    const message = { role: 'assistant', content: 'Hi', reasoning_content: 'Hm' }
    expect(pass(message, { field: 'reasoning_content' }, false)).toEqual({ message, dropped: [] })
  })
})

describe('R29 a turn with tool calls and without reasoning', () => {
  const required: ReasoningHistory = { field: 'reasoning_content', required: true }
  const message = { role: 'assistant', content: null, tool_calls: [call] }

  test('gets an empty field where the vendor requires it', () => {
    const expected = { ...message, reasoning_content: '' }
    expect(pass(message, required).message).toEqual(expected)
    expect(pass(expected, required).message).toEqual(expected)
    const part = { kind: 'tool-call' as const, id: 'call_1', name: 'weather', arguments: '{}' }
    expect(encode([part], required).message).toEqual(expected)
  })

  test('does not get the field anywhere else', () => {
    expect(pass({ ...message, reasoning_content: '' }, { field: 'reasoning_content' }).message).toEqual(
      message,
    )
    expect(pass({ ...message, reasoning_content: '' }, { field: 'reasoning' }).message).toEqual(message)
    expect(pass({ content: 'Hi' }, required).message).toEqual({ role: 'assistant', content: 'Hi' })
  })

  test('keeps an empty field of the client for such a vendor', () => {
    const message = { role: 'assistant', content: 'Hi', reasoning_content: '' }
    expect(pass(message, required).message).toEqual(message)
  })
})

describe('R29 signed reasoning, for an upstream that forwards it to its vendor', () => {
  const relays: ReasoningHistory = { field: 'reasoning_details', anySignature: true }

  test('is returned unmodified', () => {
    const details = [
      { type: 'reasoning.text', text: 'Hm', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.encrypted', data: 'b3B', id: 'rs_1', format: 'azure-openai-responses-v1', index: 1 },
      { type: 'reasoning.text', text: 'New', signature: 'bmV3', format: 'newcomer-v1', index: 2 },
    ]
    const message = { role: 'assistant', content: 'Hi', reasoning_details: details }
    expect(pass({ ...message, reasoning: 'Hm' }, relays)).toEqual({ message, dropped: [] })
  })

  test('is returned from clients of other formats', () => {
    const parts: Message['parts'] = [reasoningPart('Hm', 'vendor_a-v1', 'c2ln'), { kind: 'text', text: 'Hi' }]
    expect(encode(parts, relays)).toEqual({
      message: {
        role: 'assistant',
        content: 'Hi',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 },
        ],
      },
      dropped: [],
    })
  })
})

import { describe, expect, test } from 'bun:test'
import { newGenerationEvent } from '../../../test/support/generation-event.ts'
import { formatMessages, readContent, toChatMessages } from './otlp-content.ts'

function readMessages(...messages: unknown[]) {
  return readContent(newGenerationEvent({ input: { messages } }), 10_000).input ?? []
}

/** The same conversation in each format of clients. */
const conversations: Record<string, unknown[]> = {
  'Chat Completions': [
    { role: 'user', content: 'Weather?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"Paris"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'rain' },
  ],
  Messages: [
    { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: { at: 'Paris' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'rain' }] },
  ],
  Responses: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
    { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":"Paris"}' },
    { type: 'function_call_output', call_id: 'c1', output: 'rain' },
  ],
  Gemini: [
    { role: 'user', parts: [{ text: 'Weather?' }] },
    { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'look', args: { at: 'Paris' } } }] },
    { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'c1', response: 'rain' } }] },
  ],
}

for (const [format, messages] of Object.entries(conversations)) {
  test(`messages in the format of ${format} are read`, () => {
    expect(toChatMessages(readMessages(...messages))).toEqual([
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"Paris"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'rain' },
    ])
    const [question, call] = JSON.parse(formatMessages(readMessages(...messages)) ?? '[]')
    expect(question).toEqual({ role: 'user', parts: [{ type: 'text', content: 'Weather?' }] })
    expect(call.parts[0]).toMatchObject({ type: 'tool_call', id: 'c1', name: 'look' })
  })
}

describe('unusual messages', () => {
  test('a prompt is a message of the user', () => {
    expect(readContent(newGenerationEvent({ input: { prompt: 'Hi' } }), 1000).input).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Hi' }] },
    ])
  })

  test('reasoning is kept apart from the text', () => {
    const thinking = {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'Yes.' },
      ],
    }
    const item = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }
    expect(toChatMessages(readMessages(thinking, item))).toEqual([
      { role: 'assistant', content: 'Yes.', reasoning: 'Hm.' },
      { role: 'assistant', content: '', reasoning: 'Hm.' },
    ])
  })

  test('parts of unknown types are sent as they are', () => {
    const part = { type: 'constructor', value: 1 }
    expect(JSON.parse(formatMessages(readMessages({ role: 'user', content: [part] })) ?? '')).toEqual([
      { role: 'user', parts: [part] },
    ])
  })

  test.each([
    [null],
    [1],
    [[]],
    [{}],
    [{ role: 5, content: { a: 1 } }],
    [{ role: 'user', content: [null, [], 7] }],
  ])('what is no message does no harm: %j', (message) => {
    expect(() => toChatMessages(readMessages(message))).not.toThrow()
    expect(() => formatMessages(readMessages(message))).not.toThrow()
  })

  test('a value that is too long is left out as a whole, a text is cut', () => {
    const event = newGenerationEvent({
      input: { messages: [{ role: 'user', content: [{ type: 'blob', data: ['x'.repeat(100)] }] }] },
      output: { completion: '😀'.repeat(100), reasoning: null, tool_calls: [] },
    })
    const content = readContent(event, 50)
    expect(content.input).toEqual([{ role: 'user', parts: [] }])
    expect(content.output?.[0]?.parts).toEqual([
      { type: 'text', content: expect.stringMatching(/^😀+\.{3} \[truncated\]$/u) },
    ])
    expect(content.isCut).toBe(true)
  })
})

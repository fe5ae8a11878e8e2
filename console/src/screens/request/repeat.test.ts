import { expect, test } from 'bun:test'
import { messagesOf, promptOf, repeatOf } from './repeat.ts'

const messages = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
  { role: 'user', content: '<script>' },
]

test('a request is repeated in its format', () => {
  expect(repeatOf('chat', 'a/b', { messages })).toEqual({
    path: '/chat/completions',
    body: { model: 'a/b', messages },
  })
  expect(repeatOf('responses', 'a/b', { messages })?.body).toEqual({ model: 'a/b', input: messages })
  expect(repeatOf('messages', 'a/b', { messages })?.path).toBe('/messages')
  expect(repeatOf('gemini', 'a/b', { messages })).toBeNull()
  expect(repeatOf('chat', null, { messages })).toBeNull()
})

test('messages are text, whatever their form', () => {
  expect(
    messagesOf({ messages: [...messages, 'plain', { type: 'function_call' }] }).map(({ text }) => text),
  ).toEqual(['Hi', 'Hello', '<script>', 'plain', '{\n  "type": "function_call"\n}'])
})

test('the playground opens with the last message as the draft', () => {
  const prompt = promptOf('a/b', { messages })
  expect(prompt.draft).toBe('<script>')
  expect(prompt.messages).toHaveLength(2)
})

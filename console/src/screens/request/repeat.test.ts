import { expect, test } from 'bun:test'
import { messagesOf, promptOf } from './repeat.ts'

const messages = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
  { role: 'user', content: '<script>' },
]

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

import { expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { mistralChat } from './mistral-wire.ts'

const adapt = (body: JsonObject) =>
  mistralChat.adaptRequest({ model: 'm', stream: false, path: '/p', headers: {}, body }).body

test('a last message of the assistant is continued', () => {
  const [question, begun] = [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: 'It is' },
  ]
  expect(adapt({ messages: [question, begun] })).toEqual({ messages: [question, { ...begun, prefix: true }] })
  const messages = [begun, question]
  expect(adapt({ messages }).messages).toBe(messages)
})

test('the seed has another name', () => {
  expect(adapt({ messages: [], seed: 7 })).toEqual({ messages: [], random_seed: 7 })
  expect(adapt({ messages: [] })).toEqual({ messages: [] })
})

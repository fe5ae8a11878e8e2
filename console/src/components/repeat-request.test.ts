import { expect, test } from 'bun:test'
import { repeatOf } from './repeat-request.ts'

const messages = [{ role: 'user', content: 'Hi' }]

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

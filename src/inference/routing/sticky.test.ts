import { expect, test } from 'bun:test'
import type { Endpoint } from '../../catalog/model.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import { hasCacheDiscount, hashConversationStart, StickySessions } from './sticky.ts'

const minute = 60_000

test('S13 a hundred thousand conversations are stored; the longest idle are evicted', () => {
  const sticky = new StickySessions()
  sticky.remember('first', 'endpoint', 0)
  sticky.remember('second', 'endpoint', 0)
  for (let count = 0; count < 99_999; count++) {
    sticky.remember(`conversation ${count}`, 'endpoint', 1)
    if (count % 1000 === 0) sticky.remember('first', 'endpoint', 1)
  }
  expect([sticky.find('first', 1), sticky.find('second', 1)]).toEqual(['endpoint', null])
})

test('each turn extends the session by ten minutes', () => {
  const sticky = new StickySessions()
  sticky.remember('conversation', 'endpoint', 0)
  sticky.remember('conversation', 'endpoint', 9 * minute)
  expect(sticky.find('conversation', 19 * minute - 1)).toBe('endpoint')
  expect(sticky.find('conversation', 19 * minute)).toBeNull()
})

function callOf(...turns: [role: 'system' | 'developer' | 'user' | 'assistant', text: string][]): ModelCall {
  const messages = turns.map(([role, text]) => ({ role, parts: [{ kind: 'text' as const, text }] }))
  return { messages, stream: false, unknown: [] }
}

test('a conversation is identified by its instructions and its first turn', () => {
  const first = hashConversationStart(callOf(['system', 'Be brief.'], ['user', 'Hello']))
  const later = callOf(['system', 'Be brief.'], ['user', 'Hello'], ['assistant', 'Hi'], ['user', 'More'])
  expect(hashConversationStart(later)).toBe(first)
  expect(hashConversationStart(callOf(['developer', 'Be brief.'], ['user', 'Hello']))).toBe(first)
  expect(hashConversationStart(callOf(['system', 'Be long.'], ['user', 'Hello']))).not.toBe(first)
  expect(hashConversationStart(callOf(['system', 'Be brief.'], ['user', 'Bye']))).not.toBe(first)
  expect(hashConversationStart(callOf(['user', 'Hello']))).not.toBe(first)
})

test.each([
  [{ prompt: '0.000002', input_cache_read: '0.000001' }, true],
  [{ prompt: '0.000001', input_cache_read: '0.000001' }, false],
  [{ prompt: '0.000001' }, false],
  [null, false],
])('with %j a cached prompt is cheaper: %p', (pricing, saves) => {
  expect(hasCacheDiscount({ pricing } as Endpoint)).toBe(saves)
})

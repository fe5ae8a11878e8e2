import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Message } from './call.ts'
import { compressCall } from './compress.ts'
import { estimatePromptTokens } from './size.ts'

const user = (text: string): Message => ({ role: 'user', parts: [{ kind: 'text', text }] })

/** A turn with tool calls and their results, in one message or several. */
function toolTurn(id: number, calls: number, size: number): Message[] {
  const ids = Array.from({ length: calls }, (_, index) => `call-${id}-${index}`)
  return [
    {
      role: 'assistant',
      parts: ids.map((callId) => ({ kind: 'tool-call', id: callId, name: 'look', arguments: '{}' })),
    },
    ...ids.map(
      (callId): Message => ({
        role: 'user',
        parts: [{ kind: 'tool-result', id: callId, content: [{ kind: 'text', text: 'r'.repeat(size) }] }],
      }),
    ),
  ]
}

const turn = fc.oneof(
  fc.nat(3000).map((size) => [user('u'.repeat(size))]),
  fc
    .record({ id: fc.nat(), calls: fc.integer({ min: 1, max: 4 }), size: fc.nat(3000) })
    .map(({ id, calls, size }) => toolTurn(id, calls, size)),
)

test('no tool call loses its result, no result its call, and what remains fits', () => {
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 2500, max: 20_000 }),
      fc.integer({ min: 6, max: 200 }),
      (turns, tokens, count) => {
        const system: Message = { role: 'system', parts: [{ kind: 'text', text: 'Be brief.' }] }
        const messages = [system, ...turns.flat().map((message) => ({ ...message }))]
        const call = { messages, stream: false, unknown: [] }
        const result = compressCall(call, { tokens, messages: count })?.call ?? call
        const parts = result.messages.flatMap((message) => message.parts)
        const calls = parts.filter((part) => part.kind === 'tool-call').map(({ id }) => id)
        const results = parts.filter((part) => part.kind === 'tool-result').map(({ id }) => id)
        expect(new Set(calls)).toEqual(new Set(results))
        expect(result.messages[0]).toBe(system)
        expect(result.messages.length - 1).toBeLessThanOrEqual(Math.max(count, 5))
        expect(estimatePromptTokens(result)).toBeLessThanOrEqual(tokens)
      },
    ),
  )
})

test('of too many messages, half remain from the start and half from the end', () => {
  const messages = Array.from({ length: 3000 }, (_, index) => user(`message ${index}`))
  const result = compressCall({ messages, stream: false, unknown: [] }, { tokens: 1e9, messages: 1000 })
  expect(result?.removedMessages).toBe(2000)
  expect(result?.call.messages[499]).toBe(messages[499] as Message)
  expect(result?.call.messages[500]).toBe(messages[2500] as Message)
})

test('a call that fits is not changed', () => {
  const call = { messages: [user('Hello')], stream: false, unknown: [] }
  expect(compressCall(call, { tokens: 100, messages: 10 })).toBeNull()
})

test('texts are cut where whole messages do not suffice, and system messages stay as they are', () => {
  const system: Message = { role: 'system', parts: [{ kind: 'text', text: 'Be brief.' }] }
  const call = { messages: [system, ...toolTurn(0, 4, 2496)], stream: false, unknown: [] }
  const result = compressCall(call, { tokens: 2500, messages: 6 })
  expect(result?.truncatedTexts).toBe(1)
  expect(result?.call.messages[0]).toBe(system)
  expect(result && estimatePromptTokens(result.call)).toBeLessThanOrEqual(2500)
})

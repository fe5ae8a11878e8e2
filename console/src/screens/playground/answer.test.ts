import { expect, test } from 'bun:test'
import { type Answer, addEvent, type Chunk, figuresOf, startAnswer } from './answer.ts'

function read(chunks: Chunk[]): Answer {
  return chunks.reduce(
    (answer, chunk, index) => addEvent(answer, JSON.stringify(chunk), 1000 + index * 100),
    startAnswer(900),
  )
}

const deltaOf = (delta: object): Chunk => ({ id: 'gen-1', choices: [{ delta }] })

test('text, reasoning and usage of a stream are collected', () => {
  const answer = read([
    deltaOf({ role: 'assistant', content: '' }),
    deltaOf({ reasoning: 'Think' }),
    deltaOf({ content: 'Hel' }),
    deltaOf({ content: 'lo' }),
    { usage: { prompt_tokens: 3, completion_tokens: 30, cost: 0.5 }, choices: [{ finish_reason: 'stop' }] },
  ])
  expect(answer).toMatchObject({
    text: 'Hello',
    reasoning: 'Think',
    finishReason: 'stop',
    generationId: 'gen-1',
  })
  expect(figuresOf({ ...answer, endedAt: 2600 })).toEqual({
    cost: 0.5,
    firstTokenMs: 200,
    totalMs: 1700,
    tokensPerSecond: 20,
    promptTokens: 3,
    completionTokens: 30,
    reasoningTokens: 0,
    cachedTokens: 0,
  })
})

test('an answer without usage has no cost and no speed', () => {
  expect(figuresOf(read([deltaOf({ content: 'a' })]))).toMatchObject({ cost: null, tokensPerSecond: null })
})

test('tool calls are joined by their index, and a wild index is ignored', () => {
  const piece = (index: number, id: string | undefined, json: string) =>
    deltaOf({
      tool_calls: [{ index, ...(id && { id }), function: { name: id && `f${id}`, arguments: json } }],
    })
  const answer = read([
    piece(0, 'a', '{"x"'),
    piece(1, 'b', '{}'),
    piece(0, undefined, ':1}'),
    piece(9e9, 'c', ''),
  ])
  expect(answer.toolCalls).toEqual([
    { id: 'a', name: 'fa', arguments: '{"x":1}' },
    { id: 'b', name: 'fb', arguments: '{}' },
  ])
})

test('pieces of a reasoning detail become one, with its signature', () => {
  const detail = (fields: object) =>
    deltaOf({ reasoning_details: [{ type: 'reasoning.text', index: 0, ...fields }] })
  const answer = read([detail({ text: 'a' }), detail({ text: 'b' }), detail({ signature: 's' })])
  expect(answer.reasoningDetails).toEqual([{ type: 'reasoning.text', index: 0, text: 'ab', signature: 's' }])
})

test('an error within the stream fails the answer and keeps its text', () => {
  const answer = read([deltaOf({ content: 'half' }), { error: { code: 502, message: 'Broken.' } }])
  expect(answer).toMatchObject({ status: 'failed', text: 'half', error: { status: 502, message: 'Broken.' } })
})

import { describe, expect, test } from 'bun:test'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { zeroUsage } from '../call/usage.ts'
import type { ReplyContext } from '../wire-format.ts'
import { CohereWriter } from './reply-writer.ts'
import { decodeRequest } from './request-decode.ts'

const question = { role: 'user', content: 'Why?' }
const call = decodeRequest({ messages: [question] })
const context = { id: 'gen-1', model: 'm', provider: 'p', call } as unknown as ReplyContext

function readFrames(text: string): JsonObject[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice(6)))
}

describe('requests', () => {
  const documents = ['First.', { id: 'doc-2', data: { text: 'Second.' } }]
  const decodeFiles = (citation_options?: object) =>
    decodeRequest({ messages: [question], documents, citation_options }).messages[0]?.parts.slice(0, 2)

  test('a document has the id that citations name', () => {
    expect(decodeFiles()).toMatchObject([
      { kind: 'file', source: { text: 'First.' }, citationsEnabled: true },
      { kind: 'file', source: { text: 'Second.' }, filename: 'doc-2' },
    ])
  })

  test.each(['OFF', 'DISABLED', 'off'])('citations are not requested with the mode %s', (mode) => {
    for (const file of decodeFiles({ mode }) ?? []) expect(file).not.toHaveProperty('citationsEnabled')
  })

  test('a result of a tool keeps the id of its document', () => {
    const content = [{ type: 'document', document: { id: 'w1', data: { celsius: -3 } } }]
    const { messages } = decodeRequest({
      messages: [
        question,
        { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'weather', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c1', content },
      ],
    })
    expect(JSON.stringify(messages.at(-1))).toContain('w1')
  })
})

describe('streams', () => {
  test('log probabilities of a delta are about all of its tokens', () => {
    const writer = new CohereWriter(context)
    const logprobs = [
      { token: 'Be', logprob: -0.5, bytes: null, top: [] },
      { token: 'cause', logprob: -0.25, bytes: null, top: [] },
    ]
    const content = { kind: 'text', text: '' } as const
    const text =
      writer.write({ type: 'part-start', choice: 0, part: 0, content }) +
      writer.write({ type: 'part-delta', choice: 0, part: 0, delta: { text: 'Because', logprobs } })
    expect(readFrames(text).at(-1)?.logprobs).toEqual({
      text: 'Because',
      token_ids: [],
      logprobs: [-0.5, -0.25],
    })
  })

  test('a failure ends what is open, in the order of the format', () => {
    const writer = new CohereWriter(context)
    const content = { kind: 'text', text: 'Half' } as const
    writer.write({ type: 'part-start', choice: 0, part: 0, content })
    const frames = readFrames(writer.fail(gatewayError('upstream_timeout', 'Broken.')))
    expect(frames).toMatchObject([
      { type: 'content-end', index: 0 },
      { type: 'message-end', delta: { finish_reason: 'ERROR', error: 'Broken.' } },
    ])
  })

  test('an empty reply begins before it ends', () => {
    const frames = readFrames(new CohereWriter(context).end(zeroUsage, { total: 0 } as never))
    expect(frames.map(({ type }) => type)).toEqual(['message-start', 'message-end'])
  })
})

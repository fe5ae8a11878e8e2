import { describe, expect, test } from 'bun:test'
import { cost, createContext, parseFrames } from '../../../test/formats/fixtures/chat.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { collectReply, type ReplyEvent } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import { completions } from './completions.ts'
import { completionsRequest } from './schema.ts'

const events: ReplyEvent[] = [
  { type: 'reply-start', id: 'up' },
  {
    type: 'part-start',
    choice: 0,
    part: 0,
    content: { kind: 'reasoning', text: 'Hm', summary: [], format: 'unknown' },
  },
  { type: 'part-start', choice: 0, part: 1, content: { kind: 'text', text: '' } },
  {
    type: 'part-delta',
    choice: 0,
    part: 1,
    delta: { text: 'Once', logprobs: [{ token: 'Once', logprob: -0.5, bytes: null, top: [] }] },
  },
  { type: 'part-delta', choice: 0, part: 1, delta: { text: ' upon' } },
  { type: 'choice-end', choice: 0, reason: 'length', native: 'max_tokens' },
  { type: 'reply-end' },
]

describe('the completions format', () => {
  test('decodes one prompt', () => {
    const body = {
      model: 'm',
      prompt: ['Say'],
      max_tokens: 5,
      stop: '\n',
      logprobs: 2,
      best_of: 3,
      echo: false,
    }
    expect(completionsRequest.safeParse(body).success).toBe(true)
    expect(completions.decodeRequest(body)).toEqual({
      messages: [{ role: 'user', parts: [{ kind: 'text', text: 'Say' }] }],
      stream: false,
      maxTokens: 5,
      stop: ['\n'],
      logprobs: true,
      topLogprobs: 2,
      unknown: ['best_of'],
    })
  })

  test.each([
    ['prompt', { prompt: ['a', 'b'] }],
    ['prompt', { prompt: [1, 2] }],
    ['prompt', { prompt: [[1, 2]] }],
    ['prompt', {}],
    ['echo', { prompt: 'a', echo: true }],
    ['suffix', { prompt: 'a', suffix: 'b' }],
  ])('rejects what it does not support and names %s', (field, body) => {
    expect(() => completions.decodeRequest(body)).toThrow(`${field}:`)
  })

  test('streams text', () => {
    const writer = completions.createWriter(createContext())
    const text =
      events.map((event) => writer.write(event)).join('') +
      writer.end({ ...zeroUsage, input: 1, output: 2 }, cost)
    const chunks = parseFrames(text)
      .slice(0, -1)
      .map(({ data }) => JSON.parse(data))
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    for (const chunk of chunks)
      expect(chunk).toMatchObject({ id: 'gen-1763190000-Kx2', object: 'text_completion', provider: 'Acme' })
    const choices = chunks.flatMap((chunk) => chunk.choices)
    expect(choices.map((choice) => choice.text).join('')).toBe('Once upon')
    expect(choices[0]).toMatchObject({ text: '', reasoning: 'Hm' })
    expect(choices[1].logprobs).toEqual({
      tokens: ['Once'],
      token_logprobs: [-0.5],
      top_logprobs: [{}],
      text_offset: [0],
    })
    expect(choices.at(-1)).toMatchObject({ finish_reason: 'length', native_finish_reason: 'max_tokens' })
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { prompt_tokens: 1, completion_tokens: 2, cost: 0.0042 },
    })
  })

  test('fails without [DONE]', () => {
    const text = completions.createWriter(createContext()).fail(gatewayError('request_timeout'))
    expect(text).not.toContain('[DONE]')
    expect(text).toContain('"finish_reason":"error"')
  })

  test('encodes a whole reply', () => {
    expect(completions.encodeReply(collectReply(events), createContext(), cost)).toMatchObject({
      object: 'text_completion',
      model: 'acme/large',
      choices: [{ index: 0, text: 'Once upon', finish_reason: 'length', reasoning: 'Hm' }],
    })
  })
})

test('R33 a reply that was cut off carries an error, streamed and whole', () => {
  const writer = completions.createWriter(createContext())
  for (const event of events) writer.write(event)
  writer.end(zeroUsage, cost)
  expect(writer.fail(gatewayError('upstream_failed'))).toContain('"finish_reason":"error"')
  const failed: ReplyEvent[] = [
    ...events.slice(0, -2),
    { type: 'choice-end', choice: 0, reason: 'error', native: 'OTHER', explanation: 'Out of words.' },
    { type: 'reply-end' },
  ]
  expect(completions.encodeReply(collectReply(failed), createContext(), cost).choices).toMatchObject([
    { text: 'Once upon', finish_reason: 'error', error: { code: 502, message: 'Out of words.' } },
  ])
})

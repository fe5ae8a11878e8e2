import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { SseReader } from '../../platform/http/sse.ts'
import { collectReply, type ReplyEvent } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import grounded from './fixtures/grounded.json'
import { GeminiReader } from './reply-reader.ts'

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}`, import.meta.url))

function readBytes(bytes: Uint8Array, cuts: number[] = []): ReplyEvent[] {
  const [sse, reader] = [new SseReader(), new GeminiReader()]
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  const frames = edges.slice(1).flatMap((end, index) => sse.push(bytes.subarray(edges[index], end)))
  return [...[...frames, ...sse.end()].flatMap((frame) => reader.read(frame)), ...reader.end()]
}

function readChunks(...chunks: unknown[]): ReplyEvent[] {
  const reader = new GeminiReader()
  const frames = chunks.map((chunk) => ({ event: '', data: JSON.stringify(chunk) }))
  return [...frames.flatMap((frame) => reader.read(frame)), ...reader.end()]
}

const chunk = (parts: object[], rest: object = {}) => ({
  candidates: [{ content: { parts }, index: 0, ...rest }],
})
const whole = (body: object) => collectReply(new GeminiReader().readWhole(body as Record<string, unknown>))

describe('a streamed reply', () => {
  const reply = collectReply(readBytes(fixture('text.sse')))

  test('has thoughts, text and a final signature', () => {
    expect(reply.start).toMatchObject({ id: 'q1Wfabc0', model: 'tidal-3-pro' })
    expect(reply.choices[0]?.parts).toEqual([
      {
        kind: 'reasoning',
        text: '**Weighing the tides**\n\nThe moon pulls harder — 🌊 — at perigee.',
        summary: [],
        format: 'vendor_c-v1',
      },
      { kind: 'text', text: 'Spring tides follow the full moon — “naïve” or not. 🌕' },
      {
        kind: 'reasoning',
        text: '',
        summary: [],
        signature: 'CtIDAcu9s2Rl+tides/8Q==',
        format: 'vendor_c-v1',
      },
    ])
    expect(reply.choices[0]?.end).toMatchObject({ reason: 'stop', native: 'STOP' })
    expect(reply.isComplete).toBe(true)
  })

  test('R9: the last usage counts, with thoughts separate from text', () => {
    expect(reply.usage).toEqual({ ...zeroUsage, input: 14, output: 17, reasoning: 57 })
  })

  test('R28: is the same wherever its bytes are split', () => {
    const bytes = fixture('text.sse')
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        expect(collectReply(readBytes(bytes, cuts))).toEqual(reply)
      }),
      { numRuns: 60 },
    )
  })

  test('R33: is never complete when it is truncated', () => {
    const bytes = fixture('text.sse')
    const last = bytes.lastIndexOf('"finishReason"')
    for (let cut = 0; cut < last; cut += 7) {
      const events = readBytes(bytes.subarray(0, cut))
      expect(events.some(({ type }) => type === 'reply-end' || type === 'choice-end')).toBe(false)
    }
  })
})

test('parallel tool calls have unique ids, and the signature has the id of its call', () => {
  const { choices, usage } = collectReply(readBytes(fixture('tools.sse')))
  const [text, signature, first, second] = choices[0]?.parts ?? []
  expect(text).toEqual({ kind: 'text', text: 'Checking both ports.' })
  expect(first).toMatchObject({ kind: 'tool-call', arguments: '{"port":"Brest","days":2,"unit":"m"}' })
  expect(second).toMatchObject({ kind: 'tool-call', arguments: '{"port":"Saint-Malo","days":2}' })
  const ids = [first, second].map((part) => (part?.kind === 'tool-call' ? part.id : ''))
  expect(new Set(ids).size).toBe(2)
  expect(signature).toMatchObject({ id: ids[0], signature: 'EuwBCukBAcu9s2Rk/first+call==' })
  expect(choices[0]?.end).toMatchObject({ reason: 'tool_calls', native: 'STOP' })
  expect(choices[0]?.end?.explanation).toBeUndefined()
  expect(usage).toEqual({ ...zeroUsage, input: 53, cacheRead: 128, output: 43, reasoning: 64 })
})

test('a grounded reply has citations with character offsets, and its searches are counted', () => {
  const { choices, usage, isComplete } = whole(grounded)
  expect(isComplete).toBe(true)
  expect(choices[0]?.parts[0]).toMatchObject({ kind: 'reasoning', signature: 'CpQBAcu9s2QA' })
  expect(choices[0]?.parts[1]).toMatchObject({
    kind: 'text',
    citations: [
      { url: 'https://tides.example/brest', title: 'tides.example', start: 12, end: 33 },
      { url: 'https://harbour.example/', title: 'harbour.example', start: 12, end: 33 },
    ],
  })
  expect(usage).toEqual({ ...zeroUsage, input: 97, output: 21, reasoning: 48, webSearches: 2 })
})

test('grounding in the chunk of the last signature belongs to the text', () => {
  const last = { finishReason: 'STOP', groundingMetadata: grounded.candidates[0]?.groundingMetadata }
  const { choices } = collectReply(
    readChunks(
      chunk([{ text: 'Café tides: Brest ' }]),
      chunk([{ text: 'peaks.' }, { text: '', thoughtSignature: 's' }], last),
    ),
  )
  expect(choices[0]?.parts.map(({ kind }) => kind)).toEqual(['text', 'reasoning'])
  expect(choices[0]?.parts[0]).toMatchObject({ citations: [{ start: 12 }, { start: 12 }] })
})

test('streamed arguments are assembled by their paths', () => {
  const { choices } = collectReply(
    readChunks(
      chunk([{ functionCall: { name: 'f', willContinue: true }, thoughtSignature: 's' }]),
      chunk([
        {
          functionCall: {
            partialArgs: [
              { jsonPath: '$.a', stringValue: 'New ', willContinue: true },
              { jsonPath: '$.list[1].n', numberValue: 2 },
            ],
            willContinue: true,
          },
        },
      ]),
      chunk([
        {
          functionCall: {
            partialArgs: [
              { jsonPath: '$.a', stringValue: 'York' },
              { jsonPath: "$['x y']", boolValue: false },
              { jsonPath: '$.nil', nullValue: 'NULL_VALUE' },
              { jsonPath: '$.__proto__.bad', boolValue: true },
            ],
            willContinue: true,
          },
        },
      ]),
      chunk([{ functionCall: {} }], { finishReason: 'STOP' }),
    ),
  )
  const call = choices[0]?.parts[1]
  expect(call).toMatchObject({ kind: 'tool-call', name: 'f' })
  expect(call?.kind === 'tool-call' && JSON.parse(call.arguments)).toEqual({
    a: 'New York',
    list: [null, { n: 2 }],
    'x y': false,
    nil: null,
  })
})

test('images are complete, audio chunks are joined, and code is preserved', () => {
  const audio = (text: string) => ({
    inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: Buffer.from(text).toString('base64') },
  })
  const { choices } = collectReply(
    readChunks(
      chunk([{ inlineData: { mimeType: 'image/png', data: 'QUJD' } }, audio('a')]),
      chunk([audio('bcde'), audio('fg')]),
      chunk([{ executableCode: { code: '1' } }], { finishReason: 'STOP' }),
    ),
  )
  expect(choices[0]?.parts).toEqual([
    { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: 'QUJD' } },
    { kind: 'audio', format: 'pcm16', data: Buffer.from('abcdefg').toString('base64') },
    { kind: 'opaque', wireFormat: 'gemini', value: { executableCode: { code: '1' } } },
  ])
})

test('candidates end independently, and log probabilities belong to their text', () => {
  const logprobsResult = {
    chosenCandidates: [{ token: 'a', logProbability: -0.5 }],
    topCandidates: [{ candidates: [{ token: 'b', logProbability: -1 }] }],
  }
  const { choices } = collectReply(
    readChunks(
      { candidates: [{ index: 1, content: { parts: [{ text: 'x' }] }, finishReason: 'MAX_TOKENS' }] },
      {
        candidates: [
          {
            content: { parts: [{ text: 'a' }] },
            logprobsResult,
            finishReason: 'SAFETY',
            finishMessage: 'no',
          },
        ],
      },
    ),
  )
  expect(choices.map(({ end }) => end?.reason)).toEqual(['content_filter', 'length'])
  expect(choices[0]?.end?.explanation).toBe('no')
  expect(choices[0]?.parts[0]).toMatchObject({
    logprobs: [{ token: 'a', logprob: -0.5, bytes: null, top: [{ token: 'b', logprob: -1, bytes: null }] }],
  })
})

test('a blocked prompt ends with content_filter and its reason', () => {
  const body = {
    promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
    usageMetadata: { promptTokenCount: 5 },
  }
  for (const reply of [collectReply(readChunks(body)), whole(body)]) {
    expect(reply.choices[0]?.end).toMatchObject({ reason: 'content_filter', native: 'PROHIBITED_CONTENT' })
    expect(reply.choices[0]?.end?.explanation).toContain('PROHIBITED_CONTENT')
    expect(reply).toMatchObject({ isComplete: true, usage: { input: 5 } })
  }
})

test('errors in a stream, in an array, and bodies that are not replies', () => {
  const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }
  for (const body of [error, [error]]) {
    const reply = collectReply(readChunks(chunk([{ text: 'a' }]), body, chunk([], { finishReason: 'STOP' })))
    expect(reply.failure).toMatchObject({ kind: 'provider_overloaded', status: null, code: 'UNAVAILABLE' })
    expect(reply.isComplete).toBe(false)
  }
  const reader = new GeminiReader()
  expect(reader.read({ event: '', data: '<html>' })[0]).toMatchObject({ type: 'reply-error' })
  expect(reader.end()).toEqual([])
  expect(whole({ usageMetadata: {} })).toMatchObject({
    isComplete: false,
    failure: { kind: 'provider_unavailable' },
  })
})

test('unexpected chunks never throw', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 4 }), (values) => {
      readChunks(...values, { candidates: values }, { candidates: [{ content: { parts: values } }] })
      readChunks({
        candidates: [{ groundingMetadata: { groundingChunks: values, groundingSupports: values } }],
      })
    }),
    { numRuns: 100 },
  )
})

test('an empty member of a part does not hide the one that has content', () => {
  const image = { mimeType: 'image/png', data: 'aaaa' }
  const reply = collectReply(
    readChunks(
      chunk([{ text: 'Look: ', functionCall: {} }]),
      chunk([{ text: '', inlineData: image }], { finishReason: 'STOP' }),
    ),
  )
  expect(reply.choices[0]?.parts).toMatchObject([{ kind: 'text', text: 'Look: ' }, { kind: 'image' }])
})

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  cost,
  createContext,
  delta,
  doneFrame,
  parseFrames,
  toFrames,
} from '../../../test/formats/fixtures/chat.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { SseReader } from '../../platform/http/sse.ts'
import { collectReply, type ReplyEvent } from '../call/event.ts'
import type { OutputPart, ReasoningPart } from '../call/part.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import { chat } from './chat.ts'

function readBack(stream: string): ReplyEvent[] {
  const reader = chat.upstream.createReader()
  return [...parseFrames(stream).flatMap((frame) => reader.read(frame)), ...reader.end()]
}

function writeStream(events: ReplyEvent[], usage: Usage = zeroUsage): string {
  const writer = chat.client.createWriter(createContext())
  return events.map((event) => writer.write(event)).join('') + writer.end(usage, cost)
}

function chunksOf(stream: string): Record<string, unknown>[] {
  return parseFrames(stream)
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data))
}

/** The events of whole parts, with each text split into chunks. */
function eventsOf(parts: OutputPart[], cut = 3): ReplyEvent[] {
  const chunks = (text: string) => text.match(new RegExp(`[^]{1,${cut}}`, 'gu')) ?? []
  const events: ReplyEvent[] = [{ type: 'reply-start', id: 'up-1', model: 'large' }]
  parts.forEach((part, at) => {
    const add = (delta: object) => events.push({ type: 'part-delta', choice: 0, part: at, delta })
    if (part.kind === 'text' || part.kind === 'refusal') {
      events.push({ type: 'part-start', choice: 0, part: at, content: { kind: part.kind, text: '' } })
      for (const text of chunks(part.text)) add({ text })
      if (part.kind === 'text') for (const citation of part.citations ?? []) add({ citation })
    } else if (part.kind === 'tool-call') {
      events.push({ type: 'part-start', choice: 0, part: at, content: { ...part, arguments: '' } })
      for (const chunk of chunks(part.arguments)) add({ arguments: chunk })
    } else if (part.kind === 'reasoning') {
      const { signature, encrypted, ...open } = part
      events.push({ type: 'part-start', choice: 0, part: at, content: { ...open, text: '', summary: [] } })
      part.summary.forEach((summary, section) => {
        for (const chunk of chunks(summary)) add({ summary: chunk, section })
      })
      for (const text of chunks(part.text)) add({ text })
      for (const chunk of chunks(signature ?? '')) add({ signature: chunk })
      if (encrypted !== undefined) add({ encrypted })
    } else events.push({ type: 'part-start', choice: 0, part: at, content: part })
    events.push({ type: 'part-end', choice: 0, part: at })
  })
  const hasToolCalls = parts.some((part) => part.kind === 'tool-call')
  events.push(
    { type: 'choice-end', choice: 0, reason: hasToolCalls ? 'tool_calls' : 'stop', native: 'end_turn' },
    { type: 'reply-end' },
  )
  return events
}

const reasoningPart: ReasoningPart = {
  kind: 'reasoning',
  text: 'Let me see. Two and two.',
  summary: [],
  signature: 'EqQBCgIYAhIkNDU2',
  format: 'vendor_a-v1',
}

const everything: OutputPart[] = [
  reasoningPart,
  { kind: 'reasoning', text: '', summary: [], encrypted: 'EmwKAhgBEgy3va3p', format: 'vendor_a-v1' },
  {
    kind: 'text',
    text: 'The answer is "4" — \\ four.',
    citations: [{ url: 'https://a.example/x', title: 'X', start: 4, end: 10 }],
  },
  { kind: 'tool-call', id: 'call_a', name: 'look_up', arguments: '{"q":"é\\n{}"}' },
  { kind: 'tool-call', id: 'call_b', name: 'patch', arguments: '*** free text }', custom: true },
  { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: 'iVBORw0KGgo=' } },
]

const usage: Usage = {
  ...zeroUsage,
  input: 11,
  cacheRead: 300,
  cacheWrite: 40,
  cacheWrite1h: 5,
  inputAudio: 2,
  inputImage: 3,
  inputVideo: 4,
  output: 20,
  reasoning: 9,
  outputAudio: 8,
  outputImage: 7,
  acceptedPrediction: 1,
  rejectedPrediction: 2,
  webSearches: 3,
}

describe('a written reply is read back', () => {
  test('streamed, part for part (R29)', () => {
    const reply = collectReply(readBack(writeStream(eventsOf(everything), usage)))
    expect(reply.choices[0]?.parts).toEqual(everything)
    expect(reply.choices[0]?.end).toMatchObject({ reason: 'tool_calls', native: 'end_turn' })
    expect(reply.isComplete).toBe(true)
  })

  test('whole, part for part (R29)', () => {
    const reply = collectReply([...eventsOf(everything), { type: 'usage', usage }])
    const again = collectReply(
      chat.upstream.decodeReply(chat.client.encodeReply(reply, createContext(), cost)),
    )
    expect(again.choices[0]?.parts).toEqual(everything)
    expect(again.isComplete).toBe(true)
  })

  test('the buckets of usage, streamed and whole (R9)', () => {
    const streamed = collectReply(readBack(writeStream(eventsOf(everything), usage)))
    const reply = collectReply([...eventsOf(everything), { type: 'usage', usage }])
    const whole = collectReply(
      chat.upstream.decodeReply(chat.client.encodeReply(reply, createContext(), cost)),
    )
    const expected = { ...usage, reportedCost: cost.total }
    expect(streamed.usage).toEqual(expected)
    expect(whole.usage).toEqual(expected)
  })

  test('reasoning with an id keeps its sections, its text and its encrypted content (R29)', () => {
    const part: ReasoningPart = {
      kind: 'reasoning',
      id: 'rs_68a1',
      text: 'raw thoughts',
      summary: ['**First**\nlook', '**Then** answer'],
      encrypted: 'gAAAAABo',
      format: 'vendor_b-responses-v1',
    }
    const second = { ...part, id: 'rs_68a2', summary: ['again'], encrypted: 'gAAAAABp' }
    const parts: OutputPart[] = [part, second, { kind: 'text', text: 'hi' }]
    expect(collectReply(readBack(writeStream(eventsOf(parts)))).choices[0]?.parts).toEqual(parts)
  })

  test('the signature of a tool call is read back before it (R29)', () => {
    const signature: ReasoningPart = {
      kind: 'reasoning',
      id: 'call_a',
      text: '',
      summary: [],
      signature: 'CiQBVKhc7',
      format: 'vendor_c-v1',
    }
    const parts: OutputPart[] = [
      { kind: 'reasoning', text: 'shown', summary: [], format: 'vendor_c-v1' },
      { kind: 'text', text: 'Looking.' },
      signature,
      { kind: 'tool-call', id: 'call_a', name: 'look', arguments: '{}' },
    ]
    expect(collectReply(readBack(writeStream(eventsOf(parts)))).choices[0]?.parts).toEqual(parts)
    const reply = chat.client.encodeReply(collectReply(eventsOf(parts)), createContext(), cost)
    expect(collectReply(chat.upstream.decodeReply(reply)).choices[0]?.parts).toEqual(parts)
    const [choice] = reply.choices as { message: object }[]
    const call = chat.client.decodeRequest({ messages: [{ role: 'user', content: 'x' }, choice?.message] })
    expect(call.messages[1]?.parts).toEqual(parts)
  })

  test('however the bytes are split (R28)', () => {
    const bytes = new TextEncoder().encode(writeStream(eventsOf(everything), usage))
    const expected = readBack(writeStream(eventsOf(everything), usage))
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 12 }), (places) => {
        const cuts = [0, ...places.sort((a, b) => a - b), bytes.length]
        const sse = new SseReader()
        const reader = chat.upstream.createReader()
        const events = cuts
          .slice(1)
          .flatMap((end, at) => sse.push(bytes.subarray(cuts[at], end)))
          .flatMap((frame) => reader.read(frame))
        expect([...events, ...reader.end()]).toEqual(expected)
      }),
      { numRuns: 60 },
    )
  })

  test('interleaved tool calls, byte for byte (R28)', () => {
    const calls = fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(calls, fc.infiniteStream(fc.nat()), (texts, picks) => {
        const left = texts.map((text, part) => ({ part, chunks: [...text] }))
        const events: ReplyEvent[] = left.map(({ part }) => ({
          type: 'part-start',
          choice: 0,
          part,
          content: { kind: 'tool-call', id: `call_${part}`, name: 'f', arguments: '' },
        }))
        for (;;) {
          const open = left.filter(({ chunks }) => chunks.length > 0)
          const next = open[picks.next().value % Math.max(1, open.length)]
          if (!next) break
          events.push({
            type: 'part-delta',
            choice: 0,
            part: next.part,
            delta: { arguments: next.chunks.shift() ?? '' },
          })
        }
        const { choices } = collectReply(readBack(writeStream(events)))
        expect(choices[0]?.parts.map((part) => part.kind === 'tool-call' && part.arguments)).toEqual(
          texts.map((text) => text || '{}'),
        )
      }),
      { numRuns: 50 },
    )
  })
})

describe('the stream of a client', () => {
  const chunks = chunksOf(writeStream(eventsOf(everything), usage))

  test('has the role once, and the model and provider in every chunk', () => {
    const roles = chunks.filter((chunk) => (chunk.choices as { delta: { role?: string } }[])[0]?.delta.role)
    expect(roles).toHaveLength(1)
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({
        id: 'gen-1763190000-Kx2',
        object: 'chat.completion.chunk',
        created: 1_763_190_000,
        model: 'acme/large',
        provider: 'Acme',
      })
    }
  })

  test('ends with finish reason, usage with cost, and [DONE]', () => {
    expect(chunks.at(-1)?.choices).toEqual([
      { index: 0, delta: {}, finish_reason: 'tool_calls', native_finish_reason: 'end_turn', logprobs: null },
    ])
    expect(chunks.at(-1)).toMatchObject({
      usage: {
        prompt_tokens: 365,
        completion_tokens: 44,
        total_tokens: 409,
        cost: 0.0042,
        is_byok: false,
        cost_details: { upstream_inference_cost: 0.004 },
        prompt_tokens_details: {
          cached_tokens: 300,
          cache_write_tokens: 45,
          audio_tokens: 2,
          video_tokens: 4,
        },
        completion_tokens_details: { reasoning_tokens: 9, image_tokens: 7 },
        server_tool_use_details: { web_search_requests: 3 },
      },
    })
    expect(writeStream(eventsOf(everything)).endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test('indexes tool calls within their choice and names each once', () => {
    const calls = chunks.flatMap((chunk) => {
      const [choice] = chunk.choices as { delta: { tool_calls?: { index: number; id?: string }[] } }[]
      return choice?.delta.tool_calls ?? []
    })
    expect(new Set(calls.map((call) => call.index))).toEqual(new Set([0, 1]))
    expect(calls.filter((call) => call.id)).toHaveLength(2)
  })

  test('a reply that is cut off ends with an error chunk and without [DONE]', () => {
    const writer = chat.client.createWriter(createContext())
    const error = gatewayError('request_timeout', 'The provider stopped.', { provider_code: 'E7' })
    const text = writer.fail(error)
    expect(text).not.toContain('[DONE]')
    expect(JSON.parse(text.slice(6))).toMatchObject({
      error: {
        code: 408,
        message: 'The provider stopped.',
        metadata: { error_type: 'timeout', provider_code: 'E7' },
      },
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
    })
    expect(collectReply(readBack(text)).failure).toMatchObject({
      message: 'The provider stopped.',
      code: 'E7',
    })
  })

  test('excluded reasoning is omitted', () => {
    const context = createContext({ reasoning: { exclude: true } })
    const writer = chat.client.createWriter(context)
    const text =
      eventsOf(everything)
        .map((event) => writer.write(event))
        .join('') + writer.end(usage, cost)
    expect(text).not.toContain('"reasoning"')
    expect(text).not.toContain('reasoning_details')
    const reply = chat.client.encodeReply(collectReply(eventsOf(everything)), context, cost)
    expect(JSON.stringify(reply)).not.toContain('reasoning_details')
  })

  test('each of several choices has its own role and end', () => {
    const events: ReplyEvent[] = [0, 1].flatMap((choice): ReplyEvent[] => [
      { type: 'part-start', choice, part: 0, content: { kind: 'text', text: `choice ${choice}` } },
      { type: 'choice-end', choice, reason: 'stop', native: 'stop' },
    ])
    const { choices } = collectReply(readBack(writeStream(events)))
    expect(choices.map(({ parts }) => parts)).toEqual([
      [{ kind: 'text', text: 'choice 0' }],
      [{ kind: 'text', text: 'choice 1' }],
    ])
  })
})

test('a whole reply that was cut off keeps its content and carries the error', () => {
  const events = eventsOf([{ kind: 'text', text: 'half an' }]).filter(
    ({ type }) => type !== 'choice-end' && type !== 'reply-end',
  )
  const failure = { kind: 'provider_overloaded' as const, status: null, message: 'Overloaded', code: 'busy' }
  const body = chat.client.encodeReply(
    collectReply([...events, { type: 'reply-error', failure }]),
    createContext(),
    cost,
  )
  expect(body.choices).toMatchObject([
    {
      finish_reason: 'error',
      message: { content: 'half an' },
      error: {
        code: 503,
        message: 'Overloaded',
        metadata: { error_type: 'provider_overloaded', provider_code: 'busy' },
      },
    },
  ])
  expect(collectReply(chat.upstream.decodeReply(body))).toMatchObject({
    isComplete: false,
    failure: { message: 'Overloaded' },
  })
})

test('a stream that stops before its end mark is not complete, wherever it stops (R33)', () => {
  const frames = [
    ...toFrames([
      delta({ role: 'assistant', content: '' }),
      delta({ content: 'Hello' }),
      delta({ content: '!' }),
    ]),
    ...toFrames([delta({}, 'stop')]),
    doneFrame,
  ]
  const text = frames.map(({ data }) => `data: ${data}\n\n`).join('')
  const bytes = new TextEncoder().encode(text)
  const finished = text.indexOf('"finish_reason":"stop"}]}') + '"finish_reason":"stop"}]}'.length
  for (let end = 0; end < bytes.length; end++) {
    const sse = new SseReader()
    const reader = chat.upstream.createReader()
    const relay = chat.passthrough.createRelay(createContext())
    const got = [...sse.push(bytes.subarray(0, end)), ...sse.end()]
    const reply = collectReply([...got.flatMap((frame) => reader.read(frame)), ...reader.end()])
    const relayed = got.map((frame) => relay.pass(frame)).join('')
    expect(reply.isComplete).toBe(end >= finished)
    expect(relay.summary.isComplete).toBe(end >= finished)
    for (const { data } of parseFrames(relayed)) JSON.parse(data)
    expect('Hello!').toStartWith(
      collectReply(readBack(relayed)).choices[0]?.parts.map((part) => part.kind === 'text' && part.text)[0] ||
        '',
    )
  }
})

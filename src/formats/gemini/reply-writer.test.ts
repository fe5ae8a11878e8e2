import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { SseReader } from '../../platform/http/sse.ts'
import { asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import { collectReply, type Reply, type ReplyEvent } from '../call/event.ts'
import type { OutputPart, ReasoningPart } from '../call/part.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import type { ReplyContext } from '../wire-format.ts'
import grounded from './fixtures/grounded.json'
import { gemini } from './gemini.ts'

const context: ReplyContext = {
  id: 'gen-1',
  created: 1,
  model: 'maker/tidal',
  provider: 'P',
  tier: null,
  call: { messages: [], stream: true, unknown: [] },
  body: {},
}
const cost = {
  total: 0.25,
  isByok: false,
  upstream: 0.2,
  upstreamPrompt: 0.15,
  upstreamCompletion: 0.05,
}
const usage: Usage = { ...zeroUsage, input: 10, cacheRead: 4, cacheWrite: 2, output: 6, reasoning: 3 }

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}`, import.meta.url))
const framesOf = (bytes: Uint8Array) => {
  const sse = new SseReader()
  return [...sse.push(bytes), ...sse.end()]
}
const chunksIn = (text: string): JsonObject[] =>
  framesOf(Buffer.from(text)).map(({ data }) => JSON.parse(data))

function write(events: ReplyEvent[], replyContext = context): string {
  const writer = gemini.client.createWriter(replyContext)
  return events.map((event) => writer.write(event)).join('') + writer.end(usage, cost)
}

function read(text: string): Reply {
  const reader = gemini.upstream.createReader()
  return collectReply([
    ...framesOf(Buffer.from(text)).flatMap((frame) => reader.read(frame)),
    ...reader.end(),
  ])
}

/** The history of a client: the content of every chunk. */
function history(text: string): OutputPart[] {
  const contents = chunksIn(text).flatMap((chunk) =>
    asObjects(chunk.candidates).map(({ content }) => content),
  )
  const call = gemini.client.decodeRequest({ contents })
  return (call.messages[0]?.parts ?? []) as OutputPart[]
}

function events(...parts: OutputPart[]): ReplyEvent[] {
  const each = parts.flatMap((content, part): ReplyEvent[] => [
    { type: 'part-start', choice: 0, part, content },
    { type: 'part-end', choice: 0, part },
  ])
  return [
    { type: 'reply-start' },
    ...each,
    { type: 'choice-end', choice: 0, reason: 'stop', native: 'end_turn' },
    { type: 'reply-end' },
  ]
}

describe('a written stream', () => {
  test('survives a round trip', () => {
    for (const name of ['text.sse', 'tools.sse']) {
      const first = read(fixture(name).toString())
      const reader = gemini.upstream.createReader()
      const all = framesOf(fixture(name)).flatMap((frame) => reader.read(frame))
      const received = read(write([...all, ...reader.end()]))
      const normalize = (reply: Reply) =>
        JSON.stringify(reply.choices).replaceAll(/gcall_[0-9a-f]{24}/g, 'id')
      expect(normalize(received)).toBe(normalize(first))
    }
  })

  test('has the finish reason, usage and cost in the last chunk only', () => {
    const chunks = chunksIn(write(events({ kind: 'text', text: 'hi' })))
    expect(chunks[0]).toEqual({
      candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, index: 0 }],
      modelVersion: 'maker/tidal',
      responseId: 'gen-1',
    })
    expect(chunks[1]).toMatchObject({
      candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: {
        promptTokenCount: 16,
        cachedContentTokenCount: 4,
        cacheWriteTokenCount: 2,
        candidatesTokenCount: 6,
        thoughtsTokenCount: 3,
        totalTokenCount: 25,
        cost: 0.25,
        costDetails: { upstreamInferenceCost: 0.2 },
      },
    })
    expect(chunks).toHaveLength(2)
    expect(read(write(events())).usage).toEqual({ ...usage, reportedCost: 0.25 })
  })

  test('R33: a failure is an error in the vendor format without a finish reason', () => {
    const writer = gemini.client.createWriter(context)
    const started: ReplyEvent = {
      type: 'part-start',
      choice: 0,
      part: 0,
      content: { kind: 'text', text: 'a' },
    }
    const text = writer.write(started) + writer.fail(gatewayError('internal'))
    expect(text).not.toContain('finishReason')
    expect(chunksIn(text)[1]).toMatchObject({ error: { code: 500, status: 'INTERNAL', type: 'api_error' } })
    expect(read(text)).toMatchObject({ isComplete: false, failure: { kind: 'provider_unavailable' } })
  })

  test('R28: interleaved tool calls are written whole, in order, with unmodified arguments', () => {
    const args = fc.array(fc.record({ call: fc.nat(2), text: fc.string({ maxLength: 5 }) }), {
      maxLength: 20,
    })
    fc.assert(
      fc.property(args, fc.shuffledSubarray([0, 1, 2], { minLength: 3 }), (deltas, order) => {
        const replyEvents: ReplyEvent[] = [0, 1, 2].map((part) => ({
          type: 'part-start',
          choice: 0,
          part,
          content: { kind: 'tool-call', id: `c${part}`, name: 'f', arguments: '{"v":"' },
        }))
        const texts = ['', '', '']
        for (const { call, text } of deltas) {
          const escaped = JSON.stringify(text).slice(1, -1)
          texts[call] += escaped
          replyEvents.push({ type: 'part-delta', choice: 0, part: call, delta: { arguments: escaped } })
        }
        for (const part of order) {
          replyEvents.push({ type: 'part-delta', choice: 0, part, delta: { arguments: '"}' } })
          replyEvents.push({ type: 'part-end', choice: 0, part })
        }
        replyEvents.push({ type: 'choice-end', choice: 0, reason: 'tool_calls', native: 'tool_use' })
        const calls = read(write(replyEvents)).choices[0]?.parts
        expect(calls as unknown).toEqual(
          texts.map((text, index) => ({
            kind: 'tool-call',
            id: `c${index}`,
            name: 'f',
            arguments: JSON.stringify({ v: JSON.parse(`"${text}"`) }),
          })),
        )
      }),
      { numRuns: 60 },
    )
  })

  test('arguments that are not an object are wrapped; a refusal is text that ends with SAFETY', () => {
    const text = write(
      events(
        { kind: 'refusal', text: 'I will not.' },
        { kind: 'tool-call', id: 'x', name: 'f', arguments: '{"a":' },
      ),
    )
    expect(text).toContain('"args":{"raw_arguments":"{\\"a\\":"}')
    expect(text).toContain('"text":"I will not."')
    expect(text).toContain('"finishReason":"SAFETY"')
  })
})

describe('R29: reasoning of other vendors survives a round trip, streamed and whole', () => {
  const kinds: ReasoningPart[] = [
    { kind: 'reasoning', text: 'let me see', summary: [], signature: 'sig+/=', format: 'vendor_a-v1' },
    { kind: 'reasoning', text: '', summary: [], encrypted: 'redacted', format: 'vendor_a-v1' },
    {
      kind: 'reasoning',
      id: 'rs_1',
      text: '',
      summary: ['one', 'two'],
      encrypted: 'e',
      format: 'vendor_b-responses-v1',
    },
    { kind: 'reasoning', text: 'unsigned text', summary: [], format: 'unknown' },
  ]
  const rest: OutputPart[] = [
    { kind: 'text', text: 'answer' },
    { kind: 'tool-call', id: 'toolu_1', name: 'f', arguments: '{}' },
  ]

  for (const thinking of kinds) {
    test(`${thinking.format}, ${thinking.encrypted ? 'encrypted' : 'readable'}`, () => {
      expect(history(write(events(thinking, ...rest)))).toEqual([thinking, ...rest])
      const reply = collectReply(events(thinking, ...rest))
      const body = gemini.client.encodeReply(reply, context, cost)
      expect(history(`data: ${JSON.stringify(body)}\n\n`)).toEqual([thinking, ...rest])
      const hidden = { ...context, call: { ...context.call, reasoning: { exclude: true } } }
      const hiddenText = write(events(thinking, ...rest), hidden)
      expect(hiddenText).not.toContain(thinking.text || 'one')
      expect(history(hiddenText)).toEqual([thinking, ...rest])
    })
  }

  test('is packed in base64 that typed clients can decode and send back in either alphabet', () => {
    for (const thinking of kinds) {
      const text = write(events({ ...thinking, text: `${thinking.text}ÿ?>` }, ...rest))
      const signature = /"thoughtSignature":"([^"]+)"/.exec(text)?.[1] ?? ''
      expect(Buffer.from(signature, 'base64').toString('base64')).toBe(signature)
      const rewritten = signature.replaceAll('+', '-').replaceAll('/', '_')
      expect(history(text.replace(signature, rewritten))).toEqual(history(text))
    }
  })

  test('is packed when it is streamed without an end event', () => {
    const start = { kind: 'reasoning', text: '', summary: [], format: 'vendor_a-v1' } as const
    const text = write([
      { type: 'part-start', choice: 0, part: 0, content: { ...start, summary: [] } },
      { type: 'part-delta', choice: 0, part: 0, delta: { text: 'let me ' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { text: 'see' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { signature: 'sig+/=' } },
      { type: 'part-start', choice: 0, part: 1, content: { kind: 'text', text: 'ans' } },
      { type: 'part-delta', choice: 0, part: 1, delta: { text: 'wer' } },
    ])
    expect(history(text)).toEqual([kinds[0] as OutputPart, { kind: 'text', text: 'answer' }])
  })
})

describe('a relayed stream', () => {
  function relayFixture(name: string) {
    const relay = gemini.passthrough.createRelay(context)
    const passed = framesOf(fixture(name)).map((frame) => relay.pass(frame))
    return { relay, passed, text: passed.join('') + relay.end(usage, cost) }
  }

  test('has the same content, and holds the finish reason back', () => {
    for (const name of ['text.sse', 'tools.sse']) {
      const { passed, text, relay } = relayFixture(name)
      expect(passed.at(-1)).toBe('')
      expect(passed.join('')).not.toContain('finishReason')
      const normalize = (reply: Reply) =>
        JSON.stringify(reply.choices).replaceAll(/gcall_[0-9a-f]{24}/g, 'id')
      expect(normalize(read(text))).toBe(normalize(read(fixture(name).toString())))
      expect(relay.summary).toMatchObject({
        hasContent: true,
        isComplete: true,
        failure: null,
        model: 'tidal-3-pro',
      })
      expect(relay.summary.usage).toEqual(read(fixture(name).toString()).usage)
      for (const chunk of chunksIn(text)) {
        expect(chunk).toMatchObject({ modelVersion: 'maker/tidal', responseId: 'gen-1' })
      }
      expect(chunksIn(text).at(-1)).toMatchObject({ usageMetadata: { cost: 0.25 } })
    }
    expect(relayFixture('tools.sse').relay.summary.finishReasons).toEqual([
      { reason: 'tool_calls', native: 'STOP' },
    ])
  })

  test('R31: unknown fields and large numbers pass unchanged', () => {
    const relay = gemini.passthrough.createRelay(context)
    const data =
      '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":12345678901234567890,"x":1.0}}}]},"novel":{"a":1}}],"modelVersion":"m","responseId":"r","later":true}'
    expect(relay.pass({ event: '', data })).toBe(
      `data: ${data.replace('"m"', '"maker/tidal"').replace('"r"', '"gen-1"')}\n\n`,
    )
    const ambiguousData =
      '{"modelVersion":"m","candidates":[{"content":{"parts":[{"functionCall":{"args":{"modelVersion":"z"}}}]}}]}'
    expect(chunksIn(relay.pass({ event: '', data: ambiguousData }))[0]).toMatchObject({
      modelVersion: 'maker/tidal',
      candidates: [{ content: { parts: [{ functionCall: { args: { modelVersion: 'z' } } }] } }],
    })
  })

  test('an error of the upstream is recorded, not passed', () => {
    const relay = gemini.passthrough.createRelay(context)
    expect(
      relay.pass({ event: '', data: '[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]' }),
    ).toBe('')
    expect(relay.summary.failure).toMatchObject({ kind: 'rate_limit_exceeded' })
    expect(relay.summary).toMatchObject({ hasContent: false, isComplete: false })
  })

  test('a whole reply keeps its fields', () => {
    const passed = gemini.passthrough.passReply(structuredClone(grounded) as JsonObject, context, cost, usage)
    const { usageMetadata, ...rest } = grounded
    expect(passed).toMatchObject({ ...rest, modelVersion: 'maker/tidal', responseId: 'gen-1' })
    expect(passed.usageMetadata).toMatchObject({ ...usageMetadata, cost: 0.25 })
  })
})

test('a whole reply survives a round trip', () => {
  const reply = collectReply(gemini.upstream.decodeReply(structuredClone(grounded) as JsonObject))
  const body = gemini.client.encodeReply(reply, context, cost)
  const received = collectReply(gemini.upstream.decodeReply(body))
  expect(received.choices).toEqual(reply.choices)
  expect(received.usage).toEqual({ ...zeroUsage, ...reply.usage, reportedCost: 0.25 })
})

test('errors have the fields of the vendor and of the API envelope', () => {
  const error = gatewayError('credential_invalid')
  expect(gemini.client.encodeError(error, 'req-1')).toMatchObject({
    error: {
      code: 401,
      status: 'UNAUTHENTICATED',
      type: 'authentication_error',
      metadata: { error_type: 'authentication', reason: 'credential_invalid' },
      details: [{ reason: 'CREDENTIAL_INVALID' }],
    },
    user_id: null,
  })
})

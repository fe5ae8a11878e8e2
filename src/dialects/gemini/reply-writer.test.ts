import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { collectReply, type Reply, type ReplyEvent } from '../../call/event.ts'
import type { OutputPart, ReasoningPart } from '../../call/part.ts'
import { type Usage, zeroUsage } from '../../call/usage.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import { asObjects, type JsonObject } from '../../lib/json-values.ts'
import { SseReader } from '../../lib/sse.ts'
import type { ReplyContext } from '../dialect.ts'
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

function write(events: ReplyEvent[], facts = context): string {
  const writer = gemini.client.createWriter(facts)
  return events.map((event) => writer.write(event)).join('') + writer.end(usage, cost)
}

function read(text: string): Reply {
  const reader = gemini.upstream.createReader()
  return collectReply([
    ...framesOf(Buffer.from(text)).flatMap((frame) => reader.read(frame)),
    ...reader.end(),
  ])
}

/** What a client that keeps the history sends back: the content of every chunk. */
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
  test('read again is the reply it was written from', () => {
    for (const name of ['text.sse', 'tools.sse']) {
      const first = read(fixture(name).toString())
      const reader = gemini.upstream.createReader()
      const all = framesOf(fixture(name)).flatMap((frame) => reader.read(frame))
      const again = read(write([...all, ...reader.end()]))
      const bare = (reply: Reply) => JSON.stringify(reply.choices).replaceAll(/gcall_[0-9a-f]{24}/g, 'id')
      expect(bare(again)).toBe(bare(first))
    }
  })

  test('ends with reason, usage and bill in the last chunk and nowhere before', () => {
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

  test('R33: a failure is an error in the vendor form and no finish', () => {
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

  test('R28: calls whose arguments interleave go out whole, in order, byte-equal', () => {
    const args = fc.array(fc.record({ call: fc.nat(2), text: fc.string({ maxLength: 5 }) }), {
      maxLength: 20,
    })
    fc.assert(
      fc.property(args, fc.shuffledSubarray([0, 1, 2], { minLength: 3 }), (pieces, order) => {
        const given: ReplyEvent[] = [0, 1, 2].map((part) => ({
          type: 'part-start',
          choice: 0,
          part,
          content: { kind: 'tool-call', id: `c${part}`, name: 'f', arguments: '{"v":"' },
        }))
        const texts = ['', '', '']
        for (const { call, text } of pieces) {
          const escaped = JSON.stringify(text).slice(1, -1)
          texts[call] += escaped
          given.push({ type: 'part-delta', choice: 0, part: call, delta: { arguments: escaped } })
        }
        for (const part of order) {
          given.push({ type: 'part-delta', choice: 0, part, delta: { arguments: '"}' } })
          given.push({ type: 'part-end', choice: 0, part })
        }
        given.push({ type: 'choice-end', choice: 0, reason: 'tool_calls', native: 'tool_use' })
        const calls = read(write(given)).choices[0]?.parts
        expect(calls as unknown).toEqual(
          texts.map((text, at) => ({
            kind: 'tool-call',
            id: `c${at}`,
            name: 'f',
            arguments: JSON.stringify({ v: JSON.parse(`"${text}"`) }),
          })),
        )
      }),
      { numRuns: 60 },
    )
  })

  test('arguments that are no object are wrapped whole; a refusal is text that ends in SAFETY', () => {
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

describe('R29: foreign thinking comes back as it was, streamed and whole', () => {
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
    { kind: 'reasoning', text: 'nobody signed this', summary: [], format: 'unknown' },
  ]
  const rest: OutputPart[] = [
    { kind: 'text', text: 'answer' },
    { kind: 'tool-call', id: 'toolu_1', name: 'f', arguments: '{}' },
  ]

  for (const thinking of kinds) {
    test(`${thinking.format}, ${thinking.encrypted ? 'encrypted' : 'in words'}`, () => {
      expect(history(write(events(thinking, ...rest)))).toEqual([thinking, ...rest])
      const reply = collectReply(events(thinking, ...rest))
      const body = gemini.client.encodeReply(reply, context, cost)
      expect(history(`data: ${JSON.stringify(body)}\n\n`)).toEqual([thinking, ...rest])
      const hidden = { ...context, call: { ...context.call, reasoning: { exclude: true } } }
      const quiet = write(events(thinking, ...rest), hidden)
      expect(quiet).not.toContain(thinking.text || 'one')
      expect(history(quiet)).toEqual([thinking, ...rest])
    })
  }

  test('in base64 that typed clients can decode, whichever alphabet they write it back in', () => {
    for (const thinking of kinds) {
      const text = write(events({ ...thinking, text: `${thinking.text}ÿ?>` }, ...rest))
      const signature = /"thoughtSignature":"([^"]+)"/.exec(text)?.[1] ?? ''
      expect(Buffer.from(signature, 'base64').toString('base64')).toBe(signature)
      const rewritten = signature.replaceAll('+', '-').replaceAll('/', '_')
      expect(history(text.replace(signature, rewritten))).toEqual(history(text))
    }
  })

  test('delta by delta, even when nothing says that it is over', () => {
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

describe('the relay', () => {
  function relayed(name: string) {
    const relay = gemini.passthrough.createRelay(context)
    const passed = framesOf(fixture(name)).map((frame) => relay.pass(frame))
    return { relay, passed, text: passed.join('') + relay.end(usage, cost) }
  }

  test('means what the writer means, and keeps the finish back', () => {
    for (const name of ['text.sse', 'tools.sse']) {
      const { passed, text, relay } = relayed(name)
      expect(passed.at(-1)).toBe('')
      expect(passed.join('')).not.toContain('finishReason')
      const bare = (reply: Reply) => JSON.stringify(reply.choices).replaceAll(/gcall_[0-9a-f]{24}/g, 'id')
      expect(bare(read(text))).toBe(bare(read(fixture(name).toString())))
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
    expect(relayed('tools.sse').relay.summary.finishReasons).toEqual([
      { reason: 'tool_calls', native: 'STOP' },
    ])
  })

  test('R31: what it does not know passes, number for number', () => {
    const relay = gemini.passthrough.createRelay(context)
    const data =
      '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":12345678901234567890,"x":1.0}}}]},"novel":{"a":1}}],"modelVersion":"m","responseId":"r","later":true}'
    expect(relay.pass({ event: '', data })).toBe(
      `data: ${data.replace('"m"', '"maker/tidal"').replace('"r"', '"gen-1"')}\n\n`,
    )
    const odd =
      '{"modelVersion":"m","candidates":[{"content":{"parts":[{"functionCall":{"args":{"modelVersion":"z"}}}]}}]}'
    expect(chunksIn(relay.pass({ event: '', data: odd }))[0]).toMatchObject({
      modelVersion: 'maker/tidal',
      candidates: [{ content: { parts: [{ functionCall: { args: { modelVersion: 'z' } } }] } }],
    })
  })

  test('an error of the upstream is seen, not passed', () => {
    const relay = gemini.passthrough.createRelay(context)
    expect(
      relay.pass({ event: '', data: '[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]' }),
    ).toBe('')
    expect(relay.summary.failure).toMatchObject({ kind: 'rate_limit_exceeded' })
    expect(relay.summary).toMatchObject({ hasContent: false, isComplete: false })
  })

  test('a whole reply keeps its own fields', () => {
    const passed = gemini.passthrough.passReply(structuredClone(grounded) as JsonObject, context, cost, usage)
    const { usageMetadata, ...rest } = grounded
    expect(passed).toMatchObject({ ...rest, modelVersion: 'maker/tidal', responseId: 'gen-1' })
    expect(passed.usageMetadata).toMatchObject({ ...usageMetadata, cost: 0.25 })
  })
})

test('a whole reply says what the stream says', () => {
  const reply = collectReply(gemini.upstream.decodeReply(structuredClone(grounded) as JsonObject))
  const body = gemini.client.encodeReply(reply, context, cost)
  const again = collectReply(gemini.upstream.decodeReply(body))
  expect(again.choices).toEqual(reply.choices)
  expect(again.usage).toEqual({ ...zeroUsage, ...reply.usage, reportedCost: 0.25 })
})

test('errors have the vendor form inside the standard envelope', () => {
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

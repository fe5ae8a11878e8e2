import { describe, expect, test } from 'bun:test'
import { wireFormats } from '../../../src/formats/all.ts'
import { collectReply, type ReplyEvent } from '../../../src/formats/call/event.ts'
import { zeroUsage } from '../../../src/formats/call/usage.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../../src/formats/vocabulary.ts'
import { gatewayError } from '../../../src/platform/errors/gateway-error.ts'
import type { SseFrame } from '../../../src/platform/http/sse.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { type ScenarioName, scenarios, vendorReply } from '../../support/replies.ts'
import { clientBodies } from './client-bodies.ts'
import { compareReplies } from './compare-reply.ts'
import { successPatterns } from './grammar.ts'
import { cost, createContext, decodeFrames, parseFrames, toWireJson } from './round-trip.ts'
import { createTarget } from './targets.ts'

const names = Object.keys(scenarios) as ScenarioName[]

/** Passes the frames of an upstream to a client of the same format. */
function relayFrames(wireFormat: GenerateWireFormat, frames: SseFrame[]) {
  const relay = wireFormats[wireFormat].passthrough.createRelay(createContext())
  const passed = frames.map((frame) => relay.pass(frame)).join('') + (relay.close?.() ?? '')
  const { usage } = relay.summary
  if (!usage) throw new Error('the relay recorded no usage')
  return { summary: relay.summary, stream: passed + relay.end(usage, cost) }
}

/** Adds an unknown field to every event of a stream. */
function addUnknownField(frames: SseFrame[]): SseFrame[] {
  return frames.map((frame) =>
    frame.data === '[DONE]'
      ? frame
      : {
          ...frame,
          data: JSON.stringify({ ...(JSON.parse(frame.data) as JsonObject), vendor_extra: { a: [1] } }),
        },
  )
}

const invalidCounts = [[undefined], ['12'], [-3], [1.5], [null], [{ toString: 1 }]] as const

const singleCount: Record<GenerateWireFormat, JsonObject> = {
  chat: { completion_tokens: 7 },
  messages: { output_tokens: 7 },
  responses: { output_tokens: 7 },
  gemini: { candidatesTokenCount: 7 },
}
const invalidCount: Record<GenerateWireFormat, JsonObject> = {
  chat: { prompt_tokens: '5' },
  messages: { input_tokens: -5 },
  responses: { input_tokens: null },
  gemini: { promptTokenCount: 1.5 },
}

/** Replaces every usage object, at any depth. */
function replaceUsage(body: JsonObject, change: (usage: JsonObject) => unknown): JsonObject {
  return JSON.parse(JSON.stringify(body), (key, inner) =>
    (key === 'usage' || key === 'usageMetadata') && inner !== null ? change(inner) : inner,
  )
}

/** Replaces every number in the usage. */
function replaceCounts(body: JsonObject, value: unknown): JsonObject {
  return replaceUsage(body, (usage) =>
    JSON.parse(JSON.stringify(usage), (_, inner) => (typeof inner === 'number' ? value : inner)),
  )
}

describe.each(generateWireFormats.map((name) => [name] as const))('passthrough of %s', (wireFormat) => {
  test.each(names.map((name) => [name] as const))(
    'R31 a relayed stream has the content of the upstream: %s',
    (name) => {
      const frames = parseFrames(vendorReply(wireFormat, name).frames.join(''))
      const sent = collectReply(decodeFrames(wireFormat, frames))
      const { stream, summary } = relayFrames(wireFormat, frames)
      const received = collectReply(decodeFrames(wireFormat, parseFrames(stream)))
      expect(compareReplies(sent, received)).toEqual([])
      expect(summary).toMatchObject({
        isComplete: true,
        failure: null,
        hasContent: true,
        usage: sent.usage,
      })
      expect(summary.finishReasons[0]?.reason).toBe(sent.choices[0]?.end?.reason ?? '')
      expect(received.usage?.reportedCost).toBe(cost.total)
    },
  )

  test.each(names.map((name) => [name] as const))(
    'R31 a relayed whole reply has the content of the upstream: %s',
    (name) => {
      const { body } = vendorReply(wireFormat, name)
      const sent = collectReply(wireFormats[wireFormat].upstream.decodeReply(body))
      if (!sent.usage) throw new Error('no usage')
      const upstreamBody = { ...body, vendor_extra: { a: [1] } }
      const passed = toWireJson(
        wireFormats[wireFormat].passthrough.passReply(upstreamBody, createContext(), cost, sent.usage),
      )
      const received = collectReply(wireFormats[wireFormat].upstream.decodeReply(passed))
      expect(compareReplies(sent, received)).toEqual([])
      expect(passed.vendor_extra).toEqual({ a: [1] })
      expect(received.usage?.reportedCost).toBe(cost.total)
    },
  )

  test('R31 unknown fields of a stream are preserved', () => {
    const frames = addUnknownField(parseFrames(vendorReply(wireFormat, 'toolCalls').frames.join('')))
    const { stream } = relayFrames(wireFormat, frames)
    const events = parseFrames(stream).filter(({ data }) => data !== '[DONE]')
    const without = events.filter(({ data }) => (JSON.parse(data) as JsonObject).vendor_extra === undefined)
    expect(without.map(({ data }) => data)).toEqual([])
  })

  test('R31 unknown fields of a request reach the upstream, gateway fields do not', () => {
    for (const body of Object.values(clientBodies[wireFormat])) {
      const upstreamBody = {
        ...body,
        vendor_extra: { deep: [1, { a: null }] },
        provider: { sort: 'price' },
        plugins: [],
      }
      const { body: passed, dropped } = wireFormats[wireFormat].passthrough.passRequest(
        upstreamBody,
        createTarget(wireFormat),
      )
      expect(toWireJson(passed)).toMatchObject({ vendor_extra: { deep: [1, { a: null }] } })
      expect(dropped).not.toContain('vendor_extra')
      expect(passed).not.toHaveProperty('provider')
      expect(passed).not.toHaveProperty('plugins')
    }
  })

  test('R33 a truncated stream ends with an error', () => {
    const frames = parseFrames(vendorReply(wireFormat, 'toolCalls').frames.join(''))
    for (let count = 0; count < frames.length - 3; count++) {
      const relay = wireFormats[wireFormat].passthrough.createRelay(createContext())
      const passed = frames.slice(0, count).map((frame) => relay.pass(frame))
      const text =
        passed.join('') +
        (relay.close?.() ?? '') +
        relay.fail(gatewayError('upstream_failed', 'Connection lost.'))
      const events: ReplyEvent[] = decodeFrames(wireFormat, parseFrames(text))
      expect(relay.summary.isComplete).toBe(false)
      expect(collectReply(events)).toMatchObject({
        isComplete: false,
        failure: { message: expect.stringContaining('Connection lost.') },
      })
    }
  })

  test('R33 I7 a reply whose settlement fails after its end was written ends with an error', () => {
    for (const name of names) {
      const frames = parseFrames(vendorReply(wireFormat, name).frames.join(''))
      const relay = wireFormats[wireFormat].passthrough.createRelay(createContext())
      const passed = frames.map((frame) => relay.pass(frame)).join('') + (relay.close?.() ?? '')
      relay.end(zeroUsage, cost)
      const text = passed + relay.fail(gatewayError('upstream_failed', 'Connection lost.'))
      expect(text).not.toMatch(successPatterns[wireFormat])
      expect(relay.finalBody).toBeNull()
      expect(collectReply(decodeFrames(wireFormat, parseFrames(text)))).toMatchObject({
        isComplete: false,
        failure: { message: expect.stringContaining('Connection lost.') },
      })
    }
  })

  test('R33 events after the end marker are ignored', () => {
    const frames = parseFrames(vendorReply(wireFormat, 'toolCalls').frames.join(''))
    const marked = wireFormat === 'gemini' ? [...frames, { event: '', data: '[DONE]' }] : frames
    const late = [...marked.slice(-2), ...frames, { event: 'error', data: '{"error":{"message":"late"}}' }]
    const expected = collectReply(decodeFrames(wireFormat, marked))
    expect(collectReply(decodeFrames(wireFormat, [...marked, ...late]))).toEqual(expected)
    const withLateFrames = relayFrames(wireFormat, [...marked, ...late])
    expect(withLateFrames).toEqual(relayFrames(wireFormat, marked))
    expect(withLateFrames.summary).toMatchObject({ isComplete: true, failure: null })
  })

  test('R33 ending a reader is idempotent', () => {
    const frames = parseFrames(vendorReply(wireFormat, 'toolCalls').frames.join(''))
    const reader = wireFormats[wireFormat].upstream.createReader()
    const events = frames.flatMap((frame) => reader.read(frame))
    events.push(...reader.end(), ...reader.end(), ...frames.flatMap((frame) => reader.read(frame)))
    const ids = events.flatMap((event) => (event.type === 'part-start' ? [event.part] : []))
    expect(new Set(ids).size).toBe(ids.length)
    expect(events.filter(({ type }) => type === 'choice-end')).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'reply-end')).toHaveLength(1)
  })

  test.each([...invalidCounts])('R9 usage without a valid count is no usage: %j', (value) => {
    const { body, frames } = vendorReply(wireFormat, 'toolCalls')
    const upstreamBody = replaceCounts(body, value)
    expect(collectReply(wireFormats[wireFormat].upstream.decodeReply(upstreamBody)).usage).toBeNull()
    expect(wireFormats[wireFormat].passthrough.summarizeReply?.(upstreamBody)?.usage ?? null).toBeNull()
    const streamed = parseFrames(frames.join('')).map((frame) =>
      frame.data === '[DONE]'
        ? frame
        : { ...frame, data: JSON.stringify(replaceCounts(JSON.parse(frame.data), value)) },
    )
    expect(collectReply(decodeFrames(wireFormat, streamed))).toMatchObject({ usage: null, isComplete: true })
    const relay = wireFormats[wireFormat].passthrough.createRelay(createContext())
    for (const frame of streamed) relay.pass(frame)
    relay.close?.()
    expect(relay.summary).toMatchObject({ usage: null, isComplete: true })
  })

  test('R9 a single valid count is usage', () => {
    for (const counts of [
      singleCount[wireFormat],
      { ...singleCount[wireFormat], ...invalidCount[wireFormat] },
    ]) {
      const upstreamBody = replaceUsage(vendorReply(wireFormat, 'toolCalls').body, () => counts)
      expect(collectReply(wireFormats[wireFormat].upstream.decodeReply(upstreamBody)).usage).toEqual({
        ...zeroUsage,
        output: 7,
      })
    }
  })
})

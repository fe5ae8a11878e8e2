import { describe, expect, test } from 'bun:test'
import { type ScenarioName, scenarios, vendorReply } from '../../../test/support/replies.ts'
import { collectReply, type ReplyEvent } from '../../call/event.ts'
import { zeroUsage } from '../../call/usage.ts'
import { type GenerateDialect, generateDialects } from '../../catalogue/vocabulary.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import type { SseFrame } from '../../lib/sse.ts'
import { dialects } from '../all.ts'
import { clientBodies } from './client-bodies.ts'
import { compareReplies } from './compare-reply.ts'
import { successPatterns } from './grammar.ts'
import { cost, createContext, decodeFrames, parseFrames, toWireJson } from './round-trip.ts'
import { createTarget } from './targets.ts'

const names = Object.keys(scenarios) as ScenarioName[]

/** The frames of an upstream as a client of the same format gets them. */
function relayed(dialect: GenerateDialect, frames: SseFrame[]) {
  const relay = dialects[dialect].passthrough.createRelay(createContext())
  const passed = frames.map((frame) => relay.pass(frame)).join('') + (relay.close?.() ?? '')
  const { usage } = relay.summary
  if (!usage) throw new Error('the relay saw no usage')
  return { summary: relay.summary, stream: passed + relay.end(usage, cost) }
}

/** A field that nobody knows, in every object of the stream. */
function withExtra(frames: SseFrame[]): SseFrame[] {
  return frames.map((frame) =>
    frame.data === '[DONE]'
      ? frame
      : {
          ...frame,
          data: JSON.stringify({ ...(JSON.parse(frame.data) as JsonObject), vendor_extra: { a: [1] } }),
        },
  )
}

const oddities = [() => undefined, () => '12', () => -3, () => 1.5, () => null, () => ({ toString: 1 })]
const usages = oddities.map((odd) => [odd()] as const)

const oneCount: Record<GenerateDialect, JsonObject> = {
  chat: { completion_tokens: 7 },
  messages: { output_tokens: 7 },
  responses: { output_tokens: 7 },
  gemini: { candidatesTokenCount: 7 },
}
const absurd: Record<GenerateDialect, JsonObject> = {
  chat: { prompt_tokens: '5' },
  messages: { input_tokens: -5 },
  responses: { input_tokens: null },
  gemini: { promptTokenCount: 1.5 },
}

/** Every usage object, at any depth, as something else. */
function withUsage(value: JsonObject, change: (usage: JsonObject) => unknown): JsonObject {
  return JSON.parse(JSON.stringify(value), (key, inner) =>
    (key === 'usage' || key === 'usageMetadata') && inner !== null ? change(inner) : inner,
  )
}

/** A usage with this in the place of all its numbers. */
function oddUsage(value: JsonObject, odd: unknown): JsonObject {
  return withUsage(value, (usage) =>
    JSON.parse(JSON.stringify(usage), (_, inner) => (typeof inner === 'number' ? odd : inner)),
  )
}

describe.each(generateDialects.map((name) => [name] as const))(
  'client and upstream both of %s',
  (dialect) => {
    test.each(names.map((name) => [name] as const))(
      'R31 the relayed stream says what the upstream said: %s',
      (name) => {
        const frames = parseFrames(vendorReply(dialect, name).frames.join(''))
        const sent = collectReply(decodeFrames(dialect, frames))
        const { stream, summary } = relayed(dialect, frames)
        const got = collectReply(decodeFrames(dialect, parseFrames(stream)))
        expect(compareReplies(sent, got)).toEqual([])
        expect(summary).toMatchObject({
          isComplete: true,
          failure: null,
          hasContent: true,
          usage: sent.usage,
        })
        expect(summary.finishReasons[0]?.reason).toBe(sent.choices[0]?.end?.reason ?? '')
        expect(got.usage?.reportedCost).toBe(cost.total)
      },
    )

    test.each(names.map((name) => [name] as const))(
      'R31 the relayed whole reply says what the upstream said: %s',
      (name) => {
        const { body } = vendorReply(dialect, name)
        const sent = collectReply(dialects[dialect].upstream.decodeReply(body))
        if (!sent.usage) throw new Error('no usage')
        const given = { ...body, vendor_extra: { a: [1] } }
        const passed = toWireJson(
          dialects[dialect].passthrough.passReply(given, createContext(), cost, sent.usage),
        )
        const got = collectReply(dialects[dialect].upstream.decodeReply(passed))
        expect(compareReplies(sent, got)).toEqual([])
        expect(passed.vendor_extra).toEqual({ a: [1] })
        expect(got.usage?.reportedCost).toBe(cost.total)
      },
    )

    test('R31 fields of a stream that nobody knows stay in it', () => {
      const frames = withExtra(parseFrames(vendorReply(dialect, 'toolCalls').frames.join('')))
      const { stream } = relayed(dialect, frames)
      const told = parseFrames(stream).filter(({ data }) => data !== '[DONE]')
      const without = told.filter(({ data }) => (JSON.parse(data) as JsonObject).vendor_extra === undefined)
      expect(without.map(({ data }) => data)).toEqual([])
    })

    test('R31 fields of a request that nobody knows reach the upstream, our own do not', () => {
      for (const body of Object.values(clientBodies[dialect])) {
        const given = {
          ...body,
          vendor_extra: { deep: [1, { a: null }] },
          provider: { sort: 'price' },
          plugins: [],
        }
        const { body: passed, dropped } = dialects[dialect].passthrough.passRequest(
          given,
          createTarget(dialect),
        )
        expect(toWireJson(passed)).toMatchObject({ vendor_extra: { deep: [1, { a: null }] } })
        expect(dropped).not.toContain('vendor_extra')
        expect(passed).not.toHaveProperty('provider')
        expect(passed).not.toHaveProperty('plugins')
      }
    })

    test('R33 a relayed stream that breaks off ends with an error', () => {
      const frames = parseFrames(vendorReply(dialect, 'toolCalls').frames.join(''))
      for (let count = 0; count < frames.length - 3; count++) {
        const relay = dialects[dialect].passthrough.createRelay(createContext())
        const passed = frames.slice(0, count).map((frame) => relay.pass(frame))
        const text =
          passed.join('') +
          (relay.close?.() ?? '') +
          relay.fail(gatewayError('upstream_failed', 'It broke off.'))
        const events: ReplyEvent[] = decodeFrames(dialect, parseFrames(text))
        expect(relay.summary.isComplete).toBe(false)
        expect(collectReply(events)).toMatchObject({
          isComplete: false,
          failure: { message: expect.stringContaining('It broke off.') },
        })
      }
    })

    test('R33 I7 a reply that cannot be settled breaks off, though its end was written already', () => {
      for (const name of names) {
        const frames = parseFrames(vendorReply(dialect, name).frames.join(''))
        const relay = dialects[dialect].passthrough.createRelay(createContext())
        const passed = frames.map((frame) => relay.pass(frame)).join('') + (relay.close?.() ?? '')
        relay.end(zeroUsage, cost)
        const text = passed + relay.fail(gatewayError('upstream_failed', 'It broke off.'))
        expect(text).not.toMatch(successPatterns[dialect])
        expect(relay.finalBody).toBeNull()
        expect(collectReply(decodeFrames(dialect, parseFrames(text)))).toMatchObject({
          isComplete: false,
          failure: { message: expect.stringContaining('It broke off.') },
        })
      }
    })

    test('R33 what comes after the mark of the end is no part of the reply', () => {
      const frames = parseFrames(vendorReply(dialect, 'toolCalls').frames.join(''))
      const marked = dialect === 'gemini' ? [...frames, { event: '', data: '[DONE]' }] : frames
      const late = [...marked.slice(-2), ...frames, { event: 'error', data: '{"error":{"message":"late"}}' }]
      const once = collectReply(decodeFrames(dialect, marked))
      expect(collectReply(decodeFrames(dialect, [...marked, ...late]))).toEqual(once)
      const [one, other] = [relayed(dialect, marked), relayed(dialect, [...marked, ...late])]
      expect(other).toEqual(one)
      expect(other.summary).toMatchObject({ isComplete: true, failure: null })
    })

    test('R33 the end may be asked for at any time, and twice', () => {
      const frames = parseFrames(vendorReply(dialect, 'toolCalls').frames.join(''))
      const reader = dialects[dialect].upstream.createReader()
      const events = frames.flatMap((frame) => reader.read(frame))
      events.push(...reader.end(), ...reader.end(), ...frames.flatMap((frame) => reader.read(frame)))
      const ids = events.flatMap((event) => (event.type === 'part-start' ? [event.part] : []))
      expect(new Set(ids).size).toBe(ids.length)
      expect(events.filter(({ type }) => type === 'choice-end')).toHaveLength(1)
      expect(events.filter(({ type }) => type === 'reply-end')).toHaveLength(1)
    })

    test.each(usages)('R9 a usage without a single count is none: %j', (odd) => {
      const { body, frames } = vendorReply(dialect, 'toolCalls')
      const given = oddUsage(body, odd)
      expect(collectReply(dialects[dialect].upstream.decodeReply(given)).usage).toBeNull()
      expect(dialects[dialect].passthrough.summarizeReply?.(given)?.usage ?? null).toBeNull()
      const streamed = parseFrames(frames.join('')).map((frame) =>
        frame.data === '[DONE]'
          ? frame
          : { ...frame, data: JSON.stringify(oddUsage(JSON.parse(frame.data), odd)) },
      )
      expect(collectReply(decodeFrames(dialect, streamed))).toMatchObject({ usage: null, isComplete: true })
      const relay = dialects[dialect].passthrough.createRelay(createContext())
      for (const frame of streamed) relay.pass(frame)
      relay.close?.()
      expect(relay.summary).toMatchObject({ usage: null, isComplete: true })
    })

    test('R9 a single count is a usage', () => {
      for (const one of [oneCount[dialect], { ...oneCount[dialect], ...absurd[dialect] }]) {
        const given = withUsage(vendorReply(dialect, 'toolCalls').body, () => one)
        expect(collectReply(dialects[dialect].upstream.decodeReply(given)).usage).toEqual({
          ...zeroUsage,
          output: 7,
        })
      }
    })
  },
)

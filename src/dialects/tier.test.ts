import { describe, expect, test } from 'bun:test'
import { collectReply } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import type { GenerateDialect, ServiceTier } from '../catalogue/vocabulary.ts'
import type { JsonObject } from '../lib/json-values.ts'
import { dialects } from './all.ts'
import {
  cost,
  createContext,
  decodeFrames,
  encodeStream,
  encodeWhole,
  parseFrames,
} from './conformance/round-trip.ts'
import { createTarget } from './conformance/targets.ts'
import { decodeServedTier } from './tier.ts'

/** What a request of each format says of its tier, and the word for each lane. */
const words: Record<
  GenerateDialect,
  { field: string; priority: string | undefined; flex: string | undefined }
> = {
  chat: { field: 'service_tier', priority: 'priority', flex: 'flex' },
  responses: { field: 'service_tier', priority: 'priority', flex: 'flex' },
  gemini: { field: 'serviceTier', priority: 'priority', flex: 'flex' },
  // Capacity that was bought ahead; nothing is sold below the usual price.
  messages: { field: 'service_tier', priority: 'auto', flex: undefined },
}
const names = Object.keys(words) as GenerateDialect[]
const bodies: Record<GenerateDialect, JsonObject> = {
  chat: { messages: [{ role: 'user', content: 'Hello' }] },
  responses: { input: 'Hello' },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  messages: { max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] },
}

function sent(name: GenerateDialect, way: string, incoming: string | undefined, tier: ServiceTier | null) {
  const { field } = words[name]
  const body = { ...bodies[name], ...(incoming !== undefined && { [field]: incoming }) }
  const { client, upstream, passthrough } = dialects[name]
  const target = createTarget(name, { tier })
  const request =
    way === 'passed'
      ? passthrough.passRequest(body, target)
      : upstream.encodeRequest(client.decodeRequest(body), target)
  return { word: request.body[field], dropped: request.dropped }
}

describe.each(names)('tiers in requests to %s', (name) => {
  describe.each(['passed', 'translated'])('%s', (way) => {
    test.each(['priority', 'flex'] as const)('a request to the lane %s says so, whoever asked', (tier) => {
      for (const incoming of [undefined, tier])
        expect(sent(name, way, incoming, tier).word).toBe(words[name][tier])
    })

    test.each(['priority', 'fast', 'flex'])(
      'R31 one to the default lane does not say %s, and that is reported',
      (incoming) => {
        const { word, dropped } = sent(name, way, incoming, null)
        expect(word).toBeUndefined()
        expect(dropped).toEqual(['service_tier'])
      },
    )

    test('what asks for no lane stays as it was', () => {
      expect(sent(name, way, undefined, null)).toEqual({ word: undefined, dropped: [] })
      const { word, dropped } = sent(name, way, name === 'gemini' ? 'standard' : 'default', null)
      expect(dropped).toEqual([])
      expect(word).toBe(
        { chat: 'default', responses: 'default', gemini: 'standard', messages: 'standard_only' }[name],
      )
    })
  })
})

test('fast mode of the Messages format is for the lane that has prices of its own', () => {
  const pass = (tier: ServiceTier | null) =>
    dialects.messages.passthrough.passRequest(
      { ...bodies.messages, speed: 'fast' },
      createTarget('messages', { tier }),
    )
  expect(pass(null).body.speed).toBeUndefined()
  expect(pass(null).dropped).toEqual(['speed'])
  expect(pass('priority').body.speed).toBe('fast')
})

describe.each(names)('tiers in replies of %s', (name) => {
  const events = (serviceTier?: 'default' | 'priority' | 'flex') => [
    { type: 'reply-start' as const, ...(serviceTier && { serviceTier }) },
    { type: 'part-start' as const, choice: 0, part: 0, content: { kind: 'text' as const, text: 'Hi' } },
    { type: 'choice-end' as const, choice: 0, reason: 'stop' as const, native: 'stop' },
    { type: 'usage' as const, usage: { ...zeroUsage, input: 1, output: 1 } },
    { type: 'reply-end' as const },
  ]
  const facts = (tier: ServiceTier | null) => ({ ...createContext(), tier })
  const tierRead = (body: JsonObject) =>
    collectReply(dialects[name].upstream.decodeReply(body)).start.serviceTier
  const tierStreamed = (text: string) => collectReply(decodeFrames(name, parseFrames(text))).start.serviceTier

  test.each(['default', 'priority', 'flex'] as const)('%s is told, whole and streamed', (tier) => {
    expect(tierRead(encodeWhole(name, events(tier)))).toBe(tier)
    expect(tierStreamed(encodeStream(name, events(tier)))).toBe(tier)
  })

  test('what the upstream does not say is the lane that was asked', () => {
    expect(tierRead(encodeWhole(name, events(), facts('flex')))).toBe('flex')
    expect(tierStreamed(encodeStream(name, events(), facts('flex')))).toBe('flex')
  })

  test("the upstream's own word is believed, and passes", () => {
    const text = encodeStream(name, events('default'))
    const relay = dialects[name].passthrough.createRelay(facts('priority'))
    const passed = parseFrames(text).map((frame) => relay.pass(frame))
    expect(relay.summary.tier).toBe('default')
    passed.push(relay.end(zeroUsage, cost))
    expect(tierStreamed(passed.join(''))).toBe('default')
    const reply = dialects[name].passthrough.passReply(
      encodeWhole(name, events('default')),
      facts('priority'),
      cost,
      zeroUsage,
    )
    expect(tierRead(reply)).toBe('default')
  })

  test('where it passes without such a word, the lane is added', () => {
    const silent = { ...encodeWhole(name, events()) }
    delete silent.service_tier
    for (const field of ['usage', 'usageMetadata']) {
      const { service_tier: _tier, ...usage } = (silent[field] ?? {}) as JsonObject
      if (silent[field]) silent[field] = usage
    }
    expect(tierRead(dialects[name].passthrough.passReply(silent, facts('priority'), cost, zeroUsage))).toBe(
      'priority',
    )
  })
})

test('vendors have many words for a tier, and some that name none', () => {
  expect(['standard', 'on_demand', 'ON_DEMAND', 'default'].map(decodeServedTier)).toEqual(
    Array(4).fill('default'),
  )
  expect(['priority', 'fast', 'ON_DEMAND_PRIORITY'].map(decodeServedTier)).toEqual(Array(3).fill('priority'))
  expect(['flex', 'ON_DEMAND_FLEX'].map(decodeServedTier)).toEqual(['flex', 'flex'])
  for (const word of ['auto', 'scale', 'PROVISIONED_THROUGHPUT', '', null, 7])
    expect(decodeServedTier(word)).toBeUndefined()
})

test('a chunk of a chat stream is spliced with our word for the tier', () => {
  const relay = dialects.chat.passthrough.createRelay({ ...createContext({ n: 1 }), tier: null })
  const chunk = (content: string) => ({
    event: '',
    data: JSON.stringify({
      id: 'x',
      service_tier: 'on_demand',
      choices: [{ index: 0, delta: { content }, finish_reason: null }],
    }),
  })
  const texts = ['one', 'two', 'three'].map((word) => relay.pass(chunk(word)))
  for (const text of texts) expect(JSON.parse(text.slice('data: '.length)).service_tier).toBe('default')
})

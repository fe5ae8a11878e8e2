import { describe, expect, test } from 'bun:test'
import {
  cost,
  createContext,
  decodeFrames,
  encodeStream,
  encodeWhole,
  parseFrames,
} from '../../test/formats/conformance/round-trip.ts'
import { createTarget } from '../../test/formats/conformance/targets.ts'
import type { JsonObject } from '../platform/json/json-values.ts'
import { wireFormats } from './all.ts'
import { collectReply } from './call/event.ts'
import { zeroUsage } from './call/usage.ts'
import { decodeServedTier } from './tier.ts'
import type { GenerateWireFormat, ServiceTier } from './vocabulary.ts'

/** The request field of each format, and its value for each tier. */
const tierFields: Record<
  GenerateWireFormat,
  { field: string; priority: string | undefined; flex: string | undefined }
> = {
  chat: { field: 'service_tier', priority: 'priority', flex: 'flex' },
  responses: { field: 'service_tier', priority: 'priority', flex: 'flex' },
  gemini: { field: 'serviceTier', priority: 'priority', flex: 'flex' },
  // Committed capacity; there is no tier below the standard price.
  messages: { field: 'service_tier', priority: 'auto', flex: undefined },
}
const names = Object.keys(tierFields) as GenerateWireFormat[]
const bodies: Record<GenerateWireFormat, JsonObject> = {
  chat: { messages: [{ role: 'user', content: 'Hello' }] },
  responses: { input: 'Hello' },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  messages: { max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] },
}

function encodeTier(
  name: GenerateWireFormat,
  path: string,
  incoming: string | undefined,
  tier: ServiceTier | null,
) {
  const { field } = tierFields[name]
  const body = { ...bodies[name], ...(incoming !== undefined && { [field]: incoming }) }
  const { client, upstream, passthrough } = wireFormats[name]
  const target = createTarget(name, { tier })
  const request =
    path === 'passed'
      ? passthrough.passRequest(body, target)
      : upstream.encodeRequest(client.decodeRequest(body), target)
  return { tier: request.body[field], dropped: request.dropped }
}

describe.each(names)('tiers in requests to %s', (name) => {
  describe.each(['passed', 'translated'])('%s', (path) => {
    test.each(['priority', 'flex'] as const)(
      'a request to the %s tier names it, whatever the client sent',
      (tier) => {
        for (const incoming of [undefined, tier])
          expect(encodeTier(name, path, incoming, tier).tier).toBe(tierFields[name][tier])
      },
    )

    test.each(['priority', 'fast', 'flex'])(
      'R31 a request to the default tier does not name %s, and the loss is reported',
      (incoming) => {
        const { tier, dropped } = encodeTier(name, path, incoming, null)
        expect(tier).toBeUndefined()
        expect(dropped).toEqual(['service_tier'])
      },
    )

    test('a request without a tier stays unchanged', () => {
      expect(encodeTier(name, path, undefined, null)).toEqual({ tier: undefined, dropped: [] })
      const { tier, dropped } = encodeTier(name, path, name === 'gemini' ? 'standard' : 'default', null)
      expect(dropped).toEqual([])
      expect(tier).toBe(
        { chat: 'default', responses: 'default', gemini: 'standard', messages: 'standard_only' }[name],
      )
    })
  })
})

test('fast mode of the Messages format is only sent to the priority tier', () => {
  const pass = (tier: ServiceTier | null) =>
    wireFormats.messages.passthrough.passRequest(
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
  const contextAt = (tier: ServiceTier | null) => ({ ...createContext(), tier })
  const decodeTier = (body: JsonObject) =>
    collectReply(wireFormats[name].upstream.decodeReply(body)).start.serviceTier
  const decodeStreamedTier = (text: string) =>
    collectReply(decodeFrames(name, parseFrames(text))).start.serviceTier

  test.each(['default', 'priority', 'flex'] as const)('%s is reported, whole and streamed', (tier) => {
    expect(decodeTier(encodeWhole(name, events(tier)))).toBe(tier)
    expect(decodeStreamedTier(encodeStream(name, events(tier)))).toBe(tier)
  })

  test('the requested tier is reported when the upstream reports none', () => {
    expect(decodeTier(encodeWhole(name, events(), contextAt('flex')))).toBe('flex')
    expect(decodeStreamedTier(encodeStream(name, events(), contextAt('flex')))).toBe('flex')
  })

  test('the tier that the upstream reports wins, and passes', () => {
    const text = encodeStream(name, events('default'))
    const relay = wireFormats[name].passthrough.createRelay(contextAt('priority'))
    const passed = parseFrames(text).map((frame) => relay.pass(frame))
    expect(relay.summary.tier).toBe('default')
    passed.push(relay.end(zeroUsage, cost))
    expect(decodeStreamedTier(passed.join(''))).toBe('default')
    const reply = wireFormats[name].passthrough.passReply(
      encodeWhole(name, events('default')),
      contextAt('priority'),
      cost,
      zeroUsage,
    )
    expect(decodeTier(reply)).toBe('default')
  })

  test('a passed reply without a tier gets the requested one', () => {
    const silent = { ...encodeWhole(name, events()) }
    delete silent.service_tier
    for (const field of ['usage', 'usageMetadata']) {
      const { service_tier: _tier, ...usage } = (silent[field] ?? {}) as JsonObject
      if (silent[field]) silent[field] = usage
    }
    expect(
      decodeTier(wireFormats[name].passthrough.passReply(silent, contextAt('priority'), cost, zeroUsage)),
    ).toBe('priority')
  })
})

test('the tier names of vendors are decoded, and names that are no tier are not', () => {
  expect(['standard', 'on_demand', 'ON_DEMAND', 'default'].map(decodeServedTier)).toEqual(
    Array(4).fill('default'),
  )
  expect(['priority', 'fast', 'ON_DEMAND_PRIORITY'].map(decodeServedTier)).toEqual(Array(3).fill('priority'))
  expect(['flex', 'ON_DEMAND_FLEX'].map(decodeServedTier)).toEqual(['flex', 'flex'])
  for (const name of ['auto', 'scale', 'PROVISIONED_THROUGHPUT', '', null, 7])
    expect(decodeServedTier(name)).toBeUndefined()
})

test('a spliced chat chunk has the normalized tier', () => {
  const relay = wireFormats.chat.passthrough.createRelay({ ...createContext({ n: 1 }), tier: null })
  const chunk = (content: string) => ({
    event: '',
    data: JSON.stringify({
      id: 'x',
      service_tier: 'on_demand',
      choices: [{ index: 0, delta: { content }, finish_reason: null }],
    }),
  })
  const texts = ['one', 'two', 'three'].map((text) => relay.pass(chunk(text)))
  for (const text of texts) expect(JSON.parse(text.slice('data: '.length)).service_tier).toBe('default')
})

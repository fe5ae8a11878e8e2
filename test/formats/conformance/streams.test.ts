import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { wireFormats } from '../../../src/formats/all.ts'
import { collectReply, type ReplyEvent } from '../../../src/formats/call/event.ts'
import { zeroUsage } from '../../../src/formats/call/usage.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../../src/formats/vocabulary.ts'
import { gatewayError } from '../../../src/platform/errors/gateway-error.ts'
import { type ScenarioName, vendorReply } from '../../support/replies.ts'
import { grammarChecks, successPatterns } from './grammar.ts'
import {
  createChoiceEnd,
  createReplyEvents,
  type StreamedPart,
  textPart,
  toolCallPart,
} from './reply-scenarios.ts'
import { cost, createContext, decodeFrames, encodeStream, parseFrames } from './round-trip.ts'

const pairs = generateWireFormats.flatMap((upstream) =>
  generateWireFormats.map((client) => [upstream, client] as const),
)

/** A text split at arbitrary positions. */
const chunksOf = (whole: fc.Arbitrary<string>) =>
  fc.tuple(whole, fc.array(fc.nat(200), { maxLength: 6 })).map(([text, cuts]) => {
    const edges = [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b)
    return edges.map((edge, index) => text.slice(edges[index - 1] ?? 0, edge))
  })

const word = fc.string({ unit: 'grapheme', maxLength: 12 })
const key = fc.stringMatching(/^[a-z][a-zé_]{0,6}$/).filter((name) => name !== '__proto__')
const value = fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null), fc.array(word, { maxLength: 3 }))
const compact = fc.dictionary(key, value, { maxKeys: 4 }).map((entries) => JSON.stringify(entries))
/** The same values with white space, as some models generate them. */
const spaced = fc.dictionary(key, value, { maxKeys: 4 }).map((entries) => JSON.stringify(entries, null, 1))

interface Plan {
  calls: string[][]
  texts: string[]
  /** Selects the open part of the next delta. */
  turns: number[]
  cuts: number[]
}

const plans = (argumentsText: fc.Arbitrary<string>): fc.Arbitrary<Plan> =>
  fc.record({
    calls: fc.array(chunksOf(argumentsText), { minLength: 1, maxLength: 4 }),
    texts: chunksOf(word),
    turns: fc.array(fc.nat(100), { minLength: 5, maxLength: 30 }),
    cuts: fc.array(fc.nat(100_000), { maxLength: 12 }),
  })

/** Text and tool calls with interleaved deltas. */
function createInterleavedEvents({ calls, texts, turns }: Plan): ReplyEvent[] {
  const parts: StreamedPart[] = [
    ...(texts.join('') === '' ? [] : [textPart(...texts)]),
    ...calls.map((list, at) => toolCallPart(`call_${at}`, `tool_${at % 2}`, ...list)),
  ]
  const pendingDeltas = parts.map(({ deltas }) => [...deltas])
  const events: ReplyEvent[] = []
  const ended = new Set<number>()
  let started = 0
  for (let step = 0; ended.size < parts.length; step++) {
    const open = parts.flatMap((_, at) => (at < started && !ended.has(at) ? [at] : []))
    const turn = (turns[step % turns.length] ?? 0) + step
    const pick = turn % (open.length + (started < parts.length ? 1 : 0))
    const part = open[pick]
    if (part === undefined) {
      const content = parts[started]?.start
      if (content) events.push({ type: 'part-start', choice: 0, part: started++, content })
      continue
    }
    const delta = pendingDeltas[part]?.shift()
    if (delta) events.push({ type: 'part-delta', choice: 0, part, delta })
    else {
      ended.add(part)
      events.push({ type: 'part-end', choice: 0, part })
    }
  }
  return createReplyEvents(events, [createChoiceEnd('tool_calls')])
}

/** The client receives the same tool calls and text when the bytes of the streams are split anywhere. */
function expectRelayed(plan: Plan, upstream: GenerateWireFormat, client: GenerateWireFormat): void {
  const sent = createInterleavedEvents(plan)
  const read = decodeFrames(upstream, parseFrames(encodeStream(upstream, sent), plan.cuts))
  const stream = encodeStream(client, read)
  grammarChecks[client](parseFrames(stream))
  const received = collectReply(decodeFrames(client, parseFrames(stream, plan.cuts)))
  const calls = (received.choices[0]?.parts ?? []).flatMap((part) =>
    part.kind === 'tool-call' ? [[part.id, part.name, part.arguments]] : [],
  )
  expect(calls.sort()).toEqual(plan.calls.map((list, at) => [`call_${at}`, `tool_${at % 2}`, list.join('')]))
  const receivedText = (received.choices[0]?.parts ?? [])
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('')
  expect(receivedText).toBe(plan.texts.join(''))
  expect(received).toMatchObject({ isComplete: true, failure: null })
  expect(received.choices[0]?.end?.reason).toBe('tool_calls')
}

describe.each(pairs)('R28 from %s to %s', (upstream, client) => {
  test('parallel tool calls in any order and bytes split anywhere: arguments are unmodified', () => {
    const hasObjectArguments = upstream === 'gemini' || client === 'gemini'
    const argumentsText = hasObjectArguments ? compact : fc.oneof(compact, spaced)
    fc.assert(
      fc.property(plans(argumentsText), (plan) => expectRelayed(plan, upstream, client)),
      { numRuns: 40 },
    )
  })
})

/** The event that ends a reply in each format. */
const endPatterns: Record<GenerateWireFormat, RegExp> = {
  chat: /"finish_reason":"[a-z_]+"[^\n]*\}/,
  messages: /data: \{"type":"message_stop"\}/,
  responses: /data: \{"type":"response\.(?:completed|incomplete)"[^\n]*\}/,
  gemini: /"finishReason":"[A-Z_]+"[^\n]*\}/,
}

const truncatedScenarios: ScenarioName[] = ['toolCalls', 'reasoningToolCall', 'cutShort']
const faults = generateWireFormats.flatMap((wireFormat) =>
  truncatedScenarios.map((name) => [wireFormat, name] as const),
)

describe.each(faults)('R33 a stream of %s, %s, truncated at every byte', (wireFormat, name) => {
  const stream = vendorReply(wireFormat, name).frames.join('')
  const bytes = new TextEncoder().encode(stream)
  const endMatch = endPatterns[wireFormat].exec(stream)
  const endOffset = new TextEncoder().encode(
    stream.slice(0, (endMatch?.index ?? 0) + (endMatch?.[0].length ?? 0)),
  ).length

  test('is complete only after the end marker', () => {
    expect(endMatch).not.toBeNull()
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { isComplete } = collectReply(decodeFrames(wireFormat, parseFrames(bytes.subarray(0, cut))))
      if (isComplete !== cut >= endOffset) {
        // An event after the end marker may be truncated: a failure, never a silent end.
        expect({ cut, isComplete }).toEqual({ cut, isComplete: cut >= endOffset && isComplete })
      }
    }
    expect(collectReply(decodeFrames(wireFormat, parseFrames(bytes))).isComplete).toBe(true)
  })

  test('reaches every client as an error, never as a success', () => {
    const step = Math.max(1, Math.floor(endOffset / 40))
    for (let cut = 0; cut < endOffset; cut += step) {
      const events = decodeFrames(wireFormat, parseFrames(bytes.subarray(0, cut)))
      for (const client of generateWireFormats) expectFailure(client, events)
    }
  })
})

function expectFailure(client: GenerateWireFormat, events: ReplyEvent[], afterEnd = false): void {
  const writer = wireFormats[client].client.createWriter(createContext())
  const written = events.filter(({ type }) => type !== 'reply-error').map((event) => writer.write(event))
  if (afterEnd) writer.end(zeroUsage, cost)
  const stream = written.join('') + writer.fail(gatewayError('upstream_failed', 'The connection was lost.'))
  expect(writer.finalBody).toBeNull()
  const received = collectReply(decodeFrames(client, parseFrames(stream)))
  expect({ client, isComplete: received.isComplete, hasFailed: received.failure !== null }).toEqual({
    client,
    isComplete: false,
    hasFailed: true,
  })
  expect(stream).toContain('The connection was lost.')
  expect(stream).not.toMatch(successPatterns[client])
}

describe.each(pairs)('R33 I7 a reply of %s to a client of %s whose settlement fails', (upstream, client) => {
  test('ends with an error, even after its end was written', () => {
    for (const name of truncatedScenarios) {
      const frames = parseFrames(vendorReply(upstream, name).frames.join(''))
      expectFailure(client, decodeFrames(upstream, frames), true)
    }
    expectFailure(client, [], true)
  })
})

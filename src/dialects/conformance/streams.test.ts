import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type ScenarioName, vendorReply } from '../../../test/support/replies.ts'
import { collectReply, type ReplyEvent } from '../../call/event.ts'
import { zeroUsage } from '../../call/usage.ts'
import { type GenerateDialect, generateDialects } from '../../catalogue/vocabulary.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import { dialects } from '../all.ts'
import { grammarChecks, successPatterns } from './grammar.ts'
import {
  createChoiceEnd,
  createReplyEvents,
  type StreamedPart,
  textPart,
  toolCallPart,
} from './reply-scenarios.ts'
import { cost, createContext, decodeFrames, encodeStream, parseFrames } from './round-trip.ts'

const pairs = generateDialects.flatMap((upstream) =>
  generateDialects.map((client) => [upstream, client] as const),
)

/** Arguments as the model wrote them, cut anywhere. */
const pieces = (whole: fc.Arbitrary<string>) =>
  fc.tuple(whole, fc.array(fc.nat(200), { maxLength: 6 })).map(([said, cuts]) => {
    const edges = [...cuts.map((cut) => cut % (said.length + 1)), said.length].sort((a, b) => a - b)
    return edges.map((edge, at) => said.slice(edges[at - 1] ?? 0, edge))
  })

const word = fc.string({ unit: 'grapheme', maxLength: 12 })
const key = fc.stringMatching(/^[a-z][a-zé_]{0,6}$/).filter((name) => name !== '__proto__')
const value = fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null), fc.array(word, { maxLength: 3 }))
const compact = fc.dictionary(key, value, { maxKeys: 4 }).map((given) => JSON.stringify(given))
/** As some models write it: the same values with spaces. */
const spaced = fc.dictionary(key, value, { maxKeys: 4 }).map((given) => JSON.stringify(given, null, 1))

interface Plan {
  calls: string[][]
  said: string[]
  /** Which of the open parts says something next. */
  turns: number[]
  cuts: number[]
}

const plans = (given: fc.Arbitrary<string>): fc.Arbitrary<Plan> =>
  fc.record({
    calls: fc.array(pieces(given), { minLength: 1, maxLength: 4 }),
    said: pieces(word),
    turns: fc.array(fc.nat(100), { minLength: 5, maxLength: 30 }),
    cuts: fc.array(fc.nat(100_000), { maxLength: 12 }),
  })

/** Text and calls that start in order and take turns as the plan says. */
function interleaved({ calls, said, turns }: Plan): ReplyEvent[] {
  const parts: StreamedPart[] = [
    ...(said.join('') === '' ? [] : [textPart(...said)]),
    ...calls.map((list, at) => toolCallPart(`call_${at}`, `tool_${at % 2}`, ...list)),
  ]
  const waiting = parts.map(({ deltas }) => [...deltas])
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
    const delta = waiting[part]?.shift()
    if (delta) events.push({ type: 'part-delta', choice: 0, part, delta })
    else {
      ended.add(part)
      events.push({ type: 'part-end', choice: 0, part })
    }
  }
  return createReplyEvents(events, [createChoiceEnd('tool_calls')])
}

/** Bytes of the upstream's stream, split anywhere, as the client finally has them. */
function relayed(plan: Plan, upstream: GenerateDialect, client: GenerateDialect): void {
  const sent = interleaved(plan)
  const read = decodeFrames(upstream, parseFrames(encodeStream(upstream, sent), plan.cuts))
  const stream = encodeStream(client, read)
  grammarChecks[client](parseFrames(stream))
  const got = collectReply(decodeFrames(client, parseFrames(stream, plan.cuts)))
  const calls = (got.choices[0]?.parts ?? []).flatMap((part) =>
    part.kind === 'tool-call' ? [[part.id, part.name, part.arguments]] : [],
  )
  expect(calls.sort()).toEqual(plan.calls.map((list, at) => [`call_${at}`, `tool_${at % 2}`, list.join('')]))
  const words = (got.choices[0]?.parts ?? []).map((part) => (part.kind === 'text' ? part.text : '')).join('')
  expect(words).toBe(plan.said.join(''))
  expect(got).toMatchObject({ isComplete: true, failure: null })
  expect(got.choices[0]?.end?.reason).toBe('tool_calls')
}

describe.each(pairs)('R28 from %s to %s', (upstream, client) => {
  test('parallel calls in any order and bytes split anywhere: arguments byte for byte', () => {
    const objects = upstream === 'gemini' || client === 'gemini'
    const given = objects ? compact : fc.oneof(compact, spaced)
    fc.assert(
      fc.property(plans(given), (plan) => relayed(plan, upstream, client)),
      { numRuns: 40 },
    )
  })
})

/** Where a vendor of each format has said that its reply is over. */
const endMarks: Record<GenerateDialect, RegExp> = {
  chat: /"finish_reason":"[a-z_]+"[^\n]*\}/,
  messages: /data: \{"type":"message_stop"\}/,
  responses: /data: \{"type":"response\.(?:completed|incomplete)"[^\n]*\}/,
  gemini: /"finishReason":"[A-Z_]+"[^\n]*\}/,
}

const broken: ScenarioName[] = ['toolCalls', 'reasoningToolCall', 'cutShort']
const faults = generateDialects.flatMap((dialect) => broken.map((name) => [dialect, name] as const))

describe.each(faults)('R33 a stream of %s, %s, cut at every byte', (dialect, name) => {
  const stream = vendorReply(dialect, name).frames.join('')
  const bytes = new TextEncoder().encode(stream)
  const mark = endMarks[dialect].exec(stream)
  const marked = new TextEncoder().encode(
    stream.slice(0, (mark?.index ?? 0) + (mark?.[0].length ?? 0)),
  ).length

  test('is complete only after the end mark', () => {
    expect(mark).not.toBeNull()
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { isComplete } = collectReply(decodeFrames(dialect, parseFrames(bytes.subarray(0, cut))))
      if (isComplete !== cut >= marked) {
        // After the mark a later event may still be cut in half: then it is a failure, never a silent end.
        expect({ cut, complete: isComplete }).toEqual({ cut, complete: cut >= marked && isComplete })
      }
    }
    expect(collectReply(decodeFrames(dialect, parseFrames(bytes))).isComplete).toBe(true)
  })

  test('reaches every client as an error, never as a clean end', () => {
    const step = Math.max(1, Math.floor(marked / 40))
    for (let cut = 0; cut < marked; cut += step) {
      const events = decodeFrames(dialect, parseFrames(bytes.subarray(0, cut)))
      for (const client of generateDialects) expectBroken(client, events)
    }
  })
})

function expectBroken(client: GenerateDialect, events: ReplyEvent[], afterEnd = false): void {
  const writer = dialects[client].client.createWriter(createContext())
  const written = events.filter(({ type }) => type !== 'reply-error').map((event) => writer.write(event))
  if (afterEnd) writer.end(zeroUsage, cost)
  const stream = written.join('') + writer.fail(gatewayError('upstream_failed', 'The connection broke off.'))
  expect(writer.finalBody).toBeNull()
  const got = collectReply(decodeFrames(client, parseFrames(stream)))
  expect({ client, complete: got.isComplete, failed: got.failure !== null }).toEqual({
    client,
    complete: false,
    failed: true,
  })
  expect(stream).toContain('The connection broke off.')
  expect(stream).not.toMatch(successPatterns[client])
}

describe.each(pairs)('R33 I7 a reply of %s to a client of %s that cannot be settled', (upstream, client) => {
  test('breaks off, though its end was written already: that was never sent', () => {
    for (const name of broken) {
      const frames = parseFrames(vendorReply(upstream, name).frames.join(''))
      expectBroken(client, decodeFrames(upstream, frames), true)
    }
    expectBroken(client, [], true)
  })
})

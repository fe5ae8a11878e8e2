import { describe, expect, test } from 'bun:test'
import { type ScenarioName, scenarios, vendorReply } from '../../../test/support/replies.ts'
import type { Tool } from '../../call/call.ts'
import { collectReply, type ReplyEvent } from '../../call/event.ts'
import type { InputPart, OutputPart } from '../../call/part.ts'
import { type GenerateDialect, generateDialects } from '../../catalogue/vocabulary.ts'
import { dialects } from '../all.ts'
import { clients } from './client-history.ts'
import { compareReplies } from './compare-reply.ts'
import { grammarChecks } from './grammar.ts'
import { replyLosses } from './losses.ts'
import {
  createChoiceEnd,
  createPartEvents,
  createReplyEvents,
  replyScenarios,
  type StreamedPart,
  vendorReasoning,
} from './reply-scenarios.ts'
import {
  cost,
  createContext,
  decodeFrames,
  encodeStream,
  encodeWhole,
  parseFrames,
  replyModes,
  roundTripEvents,
  roundTripReply,
  toWireJson,
} from './round-trip.ts'

const pairs = generateDialects.flatMap((upstream) =>
  generateDialects.map((client) => [upstream, client] as const),
)

function declared(dialect: GenerateDialect): string[] {
  return replyLosses[dialect].flatMap(({ differences }) => differences)
}

/** The reply in a client's hands is the upstream's, but for what the client's format cannot say. */
function expectCarried(events: ReplyEvent[], client: GenerateDialect, what: string): void {
  const sent = collectReply(events)
  for (const way of replyModes) {
    const got = roundTripReply(client, way, events)
    const lost = compareReplies(sent, got).filter((name) => !declared(client).includes(name))
    expect({ what, way, lost }).toEqual({ what, way, lost: [] })
    expect(got.usage?.reportedCost).toBe(cost.total)
  }
}

describe.each(pairs)('R9 R31 replies of an upstream of %s to a client of %s', (upstream, client) => {
  test('every story, streamed and whole, with its usage', () => {
    for (const { name, events } of replyScenarios) {
      for (const way of replyModes)
        expectCarried(roundTripEvents(upstream, way, events), client, `${name}, ${way}`)
    }
  })

  test('replies as vendors send them, streamed and whole, with their usage', () => {
    for (const name of Object.keys(scenarios) as ScenarioName[]) {
      const { frames, body, usage } = vendorReply(upstream, name)
      for (const events of [
        decodeFrames(upstream, parseFrames(frames.join(''))),
        dialects[upstream].upstream.decodeReply(body),
      ]) {
        expect(collectReply(events)).toMatchObject({ isComplete: true, failure: null, usage })
        expectCarried(events, client, name)
      }
    }
  })
})

/** A signature may come before its text in a whole reply and after it in a stream. */
const vendorsDiffer = ['arguments.bytes', 'order']

describe.each(generateDialects.map((name) => [name] as const))('a client of %s', (client) => {
  test('gets streams that keep the rules of its format', () => {
    for (const { name, events } of replyScenarios) {
      try {
        grammarChecks[client](parseFrames(encodeStream(client, events)))
      } catch (error) {
        throw new Error(name, { cause: error })
      }
    }
  })

  test('R31 loses exactly what the table says', () => {
    const lost = replyModes.flatMap((way) =>
      replyScenarios.flatMap(({ events }) =>
        compareReplies(collectReply(events), roundTripReply(client, way, events)),
      ),
    )
    expect([...new Set(lost)].sort()).toEqual([...new Set(declared(client))].sort())
  })

  test('R9 counts the same usage from a vendor, streamed and whole', () => {
    for (const name of Object.keys(scenarios) as ScenarioName[]) {
      const { frames, body } = vendorReply(client, name)
      const one = collectReply(decodeFrames(client, parseFrames(frames.join(''))))
      const other = collectReply(dialects[client].upstream.decodeReply(body))
      expect(one.usage).toEqual(other.usage)
      expect(compareReplies(one, other).filter((name) => !vendorsDiffer.includes(name))).toEqual([])
    }
  })
})

describe.each(generateDialects.map((name) => [name] as const))('a client of %s that asked', (client) => {
  test('not to see the thinking does not see it, and R29 still sends its signature back', () => {
    for (const name of [
      'Anthropic thinking',
      'OpenAI reasoning item',
      'Gemini thoughts with a tool call signature',
    ]) {
      const events = createReplyEvents(createPartEvents(vendorReasoning[name] ?? []), [
        createChoiceEnd('stop'),
      ])
      const facts = createContext({ reasoning: { effort: 'high', exclude: true } })
      const [stream, body] = [encodeStream(client, events, facts), encodeWhole(client, events, facts)]
      for (const shown of [stream, JSON.stringify(body)]) {
        expect(shown).not.toMatch(/Snow|Looking|It snows|Ask the tool/)
      }
      const { readReply, readStream, buildNextRequest } = clients[client]
      for (const history of [readReply(body), readStream(parseFrames(stream))]) {
        const { messages } = dialects[client].client.decodeRequest(toWireJson(buildNextRequest(history)))
        // In this format hidden is hidden whole: it has no seal that would not show whose thinking it is.
        const seals = client === 'chat' ? [] : sealsIn(collectReply(events).choices[0]?.parts ?? [])
        expect(sealsIn(messages.flatMap(({ parts }) => parts))).toEqual(seals)
      }
    }
  })
})

test.each([['chat'], ['responses']] as const)(
  'for a free-text tool in the words of %s gets its calls as text',
  (asking) => {
    const tools: Tool[] = [{ kind: 'custom', name: 'patch' }]
    const call = { kind: 'tool-call', id: 'call_p', name: 'patch', arguments: '' } as const
    const asText: StreamedPart = {
      start: { ...call, custom: true },
      deltas: [{ arguments: '*** Begin "x"\n' }, { arguments: '+1' }],
    }
    const asJson: StreamedPart = {
      start: call,
      deltas: [{ arguments: '{"input":"*** Begin \\"x\\"' }, { arguments: '\\n+1"}' }],
    }
    for (const part of [asText, asJson]) {
      const events = createReplyEvents(createPartEvents([part]), [createChoiceEnd('tool_calls')])
      for (const got of [
        decodeFrames(asking, parseFrames(encodeStream(asking, events, createContext({ tools })))),
        dialects[asking].upstream.decodeReply(encodeWhole(asking, events, createContext({ tools }))),
      ]) {
        expect(collectReply(got).choices[0]?.parts).toEqual([
          { ...call, custom: true, arguments: '*** Begin "x"\n+1' },
        ])
      }
    }
  },
)

function sealsIn(parts: (InputPart | OutputPart)[]): string[] {
  return parts
    .flatMap((part) => (part.kind === 'reasoning' ? [part.signature ?? part.encrypted ?? ''] : []))
    .filter(Boolean)
}

import { describe, expect, test } from 'bun:test'
import { wireFormats } from '../../../src/formats/all.ts'
import type { Tool } from '../../../src/formats/call/call.ts'
import { collectReply, type ReplyEvent } from '../../../src/formats/call/event.ts'
import type { InputPart, OutputPart } from '../../../src/formats/call/part.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../../src/formats/vocabulary.ts'
import { type ScenarioName, scenarios, vendorReply } from '../../support/replies.ts'
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

const pairs = generateWireFormats.flatMap((upstream) =>
  generateWireFormats.map((client) => [upstream, client] as const),
)

function listDeclaredLosses(wireFormat: GenerateWireFormat): string[] {
  return replyLosses[wireFormat].flatMap(({ differences }) => differences)
}

/** The client receives the upstream's reply, except for declared losses of its format. */
function expectOnlyDeclaredLosses(events: ReplyEvent[], client: GenerateWireFormat, label: string): void {
  const sent = collectReply(events)
  for (const mode of replyModes) {
    const received = roundTripReply(client, mode, events)
    const undeclared = compareReplies(sent, received).filter(
      (name) => !listDeclaredLosses(client).includes(name),
    )
    expect({ label, mode, undeclared }).toEqual({ label, mode, undeclared: [] })
    expect(received.usage?.reportedCost).toBe(cost.total)
  }
}

describe.each(pairs)('R9 R31 replies of an upstream of %s to a client of %s', (upstream, client) => {
  test('every scenario, streamed and whole, with its usage', () => {
    for (const { name, events } of replyScenarios) {
      for (const mode of replyModes)
        expectOnlyDeclaredLosses(roundTripEvents(upstream, mode, events), client, `${name}, ${mode}`)
    }
  })

  test('replies as vendors send them, streamed and whole, with their usage', () => {
    for (const name of Object.keys(scenarios) as ScenarioName[]) {
      const { frames, body, usage } = vendorReply(upstream, name)
      for (const events of [
        decodeFrames(upstream, parseFrames(frames.join(''))),
        wireFormats[upstream].upstream.decodeReply(body),
      ]) {
        expect(collectReply(events)).toMatchObject({ isComplete: true, failure: null, usage })
        expectOnlyDeclaredLosses(events, client, name)
      }
    }
  })
})

/** A vendor may send a signature before its text in a whole reply and after it in a stream. */
const vendorDifferences = ['arguments.bytes', 'order']

describe.each(generateWireFormats.map((name) => [name] as const))('a client of %s', (client) => {
  test('receives streams that follow the rules of its format', () => {
    for (const { name, events } of replyScenarios) {
      try {
        grammarChecks[client](parseFrames(encodeStream(client, events)))
      } catch (error) {
        throw new Error(name, { cause: error })
      }
    }
  })

  test('R31 loses exactly what is declared', () => {
    const undeclared = replyModes.flatMap((mode) =>
      replyScenarios.flatMap(({ events }) =>
        compareReplies(collectReply(events), roundTripReply(client, mode, events)),
      ),
    )
    expect([...new Set(undeclared)].sort()).toEqual([...new Set(listDeclaredLosses(client))].sort())
  })

  test('R9 counts the same usage from a vendor, streamed and whole', () => {
    for (const name of Object.keys(scenarios) as ScenarioName[]) {
      const { frames, body } = vendorReply(client, name)
      const streamed = collectReply(decodeFrames(client, parseFrames(frames.join(''))))
      const whole = collectReply(wireFormats[client].upstream.decodeReply(body))
      expect(streamed.usage).toEqual(whole.usage)
      expect(compareReplies(streamed, whole).filter((name) => !vendorDifferences.includes(name))).toEqual([])
    }
  })
})

describe.each(generateWireFormats.map((name) => [name] as const))(
  'a client of %s that hides reasoning',
  (client) => {
    test('receives none, and R29 still sends signatures back', () => {
      for (const name of [
        'Anthropic thinking',
        'OpenAI reasoning item',
        'Gemini thoughts with a tool call signature',
      ]) {
        const events = createReplyEvents(createPartEvents(vendorReasoning[name] ?? []), [
          createChoiceEnd('stop'),
        ])
        const context = createContext({ reasoning: { effort: 'high', exclude: true } })
        const [stream, body] = [encodeStream(client, events, context), encodeWhole(client, events, context)]
        for (const shown of [stream, JSON.stringify(body)]) {
          expect(shown).not.toMatch(/Snow|Looking|It snows|Ask the tool/)
        }
        const { readReply, readStream, buildNextRequest } = clients[client]
        for (const history of [readReply(body), readStream(parseFrames(stream))]) {
          const { messages } = wireFormats[client].client.decodeRequest(toWireJson(buildNextRequest(history)))
          // Chat signatures would show the vendor, so they are hidden too.
          const signatures =
            client === 'chat' ? [] : listSignatures(collectReply(events).choices[0]?.parts ?? [])
          expect(listSignatures(messages.flatMap(({ parts }) => parts))).toEqual(signatures)
        }
      }
    })
  },
)

test.each([['chat'], ['responses']] as const)(
  'calls of a free-text tool reach a client of %s as text',
  (client) => {
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
      for (const replyEvents of [
        decodeFrames(client, parseFrames(encodeStream(client, events, createContext({ tools })))),
        wireFormats[client].upstream.decodeReply(encodeWhole(client, events, createContext({ tools }))),
      ]) {
        expect(collectReply(replyEvents).choices[0]?.parts).toEqual([
          { ...call, custom: true, arguments: '*** Begin "x"\n+1' },
        ])
      }
    }
  },
)

function listSignatures(parts: (InputPart | OutputPart)[]): string[] {
  return parts
    .flatMap((part) => (part.kind === 'reasoning' ? [part.signature ?? part.encrypted ?? ''] : []))
    .filter(Boolean)
}

import { describe, expect, test } from 'bun:test'
import { vendorReply } from '../../../test/support/replies.ts'
import type { ModelCall } from '../../call/call.ts'
import { collectReply, type ReplyEvent } from '../../call/event.ts'
import type { InputPart, OutputPart, ReasoningFormat } from '../../call/part.ts'
import { type GenerateDialect, generateDialects } from '../../catalogue/vocabulary.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { dialects } from '../all.ts'
import { clients } from './client-history.ts'
import {
  createChoiceEnd,
  createPartEvents,
  createReplyEvents,
  type StreamedPart,
  vendorReasoning,
} from './reply-scenarios.ts'
import {
  decodeFrames,
  encodeStream,
  encodeWhole,
  parseFrames,
  type ReplyMode,
  replyModes,
  toWireJson,
} from './round-trip.ts'
import { createTarget, nativeDialects, nativeSignatures } from './targets.ts'

interface Thinker {
  name: string
  vendor: GenerateDialect
  format: ReasoningFormat
  events: ReplyEvent[]
  /** What must come back byte for byte. */
  seals: string[]
}

function sealsOf(parts: OutputPart[]): string[] {
  return parts.flatMap((part) =>
    part.kind === 'reasoning'
      ? [part.signature ?? '', part.encrypted ?? ''].filter((seal) => seal !== '')
      : [],
  )
}

function whatStreamed({ start, deltas }: StreamedPart): string[] {
  const later = deltas.flatMap(({ signature, encrypted }) => [signature ?? '', encrypted ?? ''])
  return [...sealsOf([start]), ...later.filter((seal) => seal !== '')]
}

/** The vendors' thinking as their own formats give it, and as our stories tell it. */
function thinkers(): Thinker[] {
  const told = Object.entries(vendorReasoning).flatMap(([name, parts]): Thinker[] => {
    const format =
      parts.flatMap(({ start }) => (start.kind === 'reasoning' ? [start.format] : []))[0] ?? 'unknown'
    const vendor = nativeDialects[format]
    if (!vendor) return []
    const reason = parts.some(({ start }) => start.kind === 'tool-call') ? 'tool_calls' : 'stop'
    const events = createReplyEvents(createPartEvents(parts), [createChoiceEnd(reason)])
    return [{ name, vendor, format, events, seals: parts.flatMap(whatStreamed) }]
  })
  const sent = (['messages', 'responses', 'gemini'] as const).flatMap((vendor) =>
    (['reasoning', 'reasoningToolCall'] as const).map((name): Thinker => {
      const { frames, scenario } = vendorReply(vendor, name)
      const events = decodeFrames(vendor, parseFrames(frames.join('')))
      const seals = 'reasoning' in scenario && scenario.reasoning ? [scenario.reasoning.signature] : []
      return { name: `${vendor} ${name}`, vendor, format: nativeSignatures[vendor], events, seals }
    }),
  )
  return [...told, ...sent]
}

/** What a client that was given this reply asks next. */
function nextRequest(client: GenerateDialect, way: ReplyMode, events: ReplyEvent[]): JsonObject {
  const { readReply, readStream, buildNextRequest } = clients[client]
  const history =
    way === 'whole'
      ? readReply(encodeWhole(client, events))
      : readStream(parseFrames(encodeStream(client, events)))
  return toWireJson(buildNextRequest(history))
}

/** A vendor checks a signature against the very words it signed. */
function signed(parts: (InputPart | OutputPart)[]) {
  return parts.flatMap((part) =>
    part.kind === 'reasoning' && sealsOf([part]).length > 0
      ? [{ text: part.text, summary: part.summary, signature: part.signature, encrypted: part.encrypted }]
      : [],
  )
}

function signedIn({ messages }: ModelCall) {
  return signed(messages.flatMap(({ parts }) => parts))
}

function signedBy(events: ReplyEvent[]) {
  return signed(collectReply(events).choices[0]?.parts ?? [])
}

const cases = generateDialects.flatMap((client) => replyModes.map((way) => [client, way] as const))

describe.each(cases)('R29 thinking through a client of %s, %s', (client, way) => {
  test.each(thinkers().map((thinker) => [thinker.name, thinker] as const))('%s', (_name, thinker) => {
    const { vendor, format, events, seals } = thinker
    const body = nextRequest(client, way, events)
    const request = dialects[client].client.decodeRequest(body)
    expect(seals.length).toBeGreaterThan(0)
    for (const upstream of generateDialects) {
      const home = upstream === vendor
      const target = createTarget(upstream, home ? { signatureFormat: format } : {})
      const requests = [dialects[upstream].upstream.encodeRequest(request, target)]
      if (upstream === client) requests.push(dialects[client].passthrough.passRequest(body, target))
      for (const request of requests) {
        const text = JSON.stringify(request.body)
        for (const seal of seals)
          expect({ upstream, there: text.includes(seal) }).toEqual({ upstream, there: home })
        if (home)
          expect(signedIn(dialects[vendor].client.decodeRequest(toWireJson(request.body)))).toEqual(
            signedBy(events),
          )
        expect({ upstream, packed: text.includes('hg1.') }).toEqual({ upstream, packed: false })
        expect({ upstream, named: request.dropped.includes('reasoning_signature') }).toEqual({
          upstream,
          named: !home,
        })
      }
    }
  })
})

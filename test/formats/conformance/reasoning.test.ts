import { describe, expect, test } from 'bun:test'
import { wireFormats } from '../../../src/formats/all.ts'
import type { ModelCall } from '../../../src/formats/call/call.ts'
import { collectReply, type ReplyEvent } from '../../../src/formats/call/event.ts'
import type { InputPart, OutputPart, ReasoningFormat } from '../../../src/formats/call/part.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../../src/formats/vocabulary.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { vendorReply } from '../../support/replies.ts'
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
import { createTarget, nativeSignatures, nativeWireFormats } from './targets.ts'

interface ReasoningSample {
  name: string
  vendor: GenerateWireFormat
  format: ReasoningFormat
  events: ReplyEvent[]
  /** Signatures that must come back unmodified. */
  signatures: string[]
}

function signaturesOf(parts: OutputPart[]): string[] {
  return parts.flatMap((part) =>
    part.kind === 'reasoning'
      ? [part.signature ?? '', part.encrypted ?? ''].filter((signature) => signature !== '')
      : [],
  )
}

function streamedSignatures({ start, deltas }: StreamedPart): string[] {
  const later = deltas.flatMap(({ signature, encrypted }) => [signature ?? '', encrypted ?? ''])
  return [...signaturesOf([start]), ...later.filter((signature) => signature !== '')]
}

/** Reasoning from the scenarios, and from recorded replies in the vendors' formats. */
function listSamples(): ReasoningSample[] {
  const fromScenarios = Object.entries(vendorReasoning).flatMap(([name, parts]): ReasoningSample[] => {
    const format =
      parts.flatMap(({ start }) => (start.kind === 'reasoning' ? [start.format] : []))[0] ?? 'unknown'
    const vendor = nativeWireFormats[format]
    if (!vendor) return []
    const reason = parts.some(({ start }) => start.kind === 'tool-call') ? 'tool_calls' : 'stop'
    const events = createReplyEvents(createPartEvents(parts), [createChoiceEnd(reason)])
    return [{ name, vendor, format, events, signatures: parts.flatMap(streamedSignatures) }]
  })
  const fromVendors = (['messages', 'responses', 'gemini'] as const).flatMap((vendor) =>
    (['reasoning', 'reasoningToolCall'] as const).map((name): ReasoningSample => {
      const { frames, scenario } = vendorReply(vendor, name)
      const events = decodeFrames(vendor, parseFrames(frames.join('')))
      const signatures = 'reasoning' in scenario && scenario.reasoning ? [scenario.reasoning.signature] : []
      return { name: `${vendor} ${name}`, vendor, format: nativeSignatures[vendor], events, signatures }
    }),
  )
  return [...fromScenarios, ...fromVendors]
}

/** The next request of a client that received this reply. */
function buildNextBody(client: GenerateWireFormat, mode: ReplyMode, events: ReplyEvent[]): JsonObject {
  const { readReply, readStream, buildNextRequest } = clients[client]
  const history =
    mode === 'whole'
      ? readReply(encodeWhole(client, events))
      : readStream(parseFrames(encodeStream(client, events)))
  return toWireJson(buildNextRequest(history))
}

/** Signed parts with their text, which vendors verify together. */
function signedParts(parts: (InputPart | OutputPart)[]) {
  return parts.flatMap((part) =>
    part.kind === 'reasoning' && signaturesOf([part]).length > 0
      ? [{ text: part.text, summary: part.summary, signature: part.signature, encrypted: part.encrypted }]
      : [],
  )
}

function signedPartsOf({ messages }: ModelCall) {
  return signedParts(messages.flatMap(({ parts }) => parts))
}

function signedPartsIn(events: ReplyEvent[]) {
  return signedParts(collectReply(events).choices[0]?.parts ?? [])
}

const cases = generateWireFormats.flatMap((client) => replyModes.map((mode) => [client, mode] as const))

describe.each(cases)('R29 reasoning through a client of %s, %s', (client, mode) => {
  test.each(listSamples().map((sample) => [sample.name, sample] as const))('%s', (_name, sample) => {
    const { vendor, format, events, signatures } = sample
    const body = buildNextBody(client, mode, events)
    const request = wireFormats[client].client.decodeRequest(body)
    expect(signatures.length).toBeGreaterThan(0)
    for (const upstream of generateWireFormats) {
      const isVendor = upstream === vendor
      const target = createTarget(upstream, isVendor ? { signatureFormat: format } : {})
      const requests = [wireFormats[upstream].upstream.encodeRequest(request, target)]
      if (upstream === client) requests.push(wireFormats[client].passthrough.passRequest(body, target))
      for (const upstreamRequest of requests) {
        const text = JSON.stringify(upstreamRequest.body)
        for (const signature of signatures)
          expect({ upstream, isSent: text.includes(signature) }).toEqual({ upstream, isSent: isVendor })
        if (isVendor)
          expect(
            signedPartsOf(wireFormats[vendor].client.decodeRequest(toWireJson(upstreamRequest.body))),
          ).toEqual(signedPartsIn(events))
        expect({ upstream, packed: text.includes('hg1.') }).toEqual({ upstream, packed: false })
        expect({ upstream, isReported: upstreamRequest.dropped.includes('reasoning_signature') }).toEqual({
          upstream,
          isReported: !isVendor,
        })
      }
    }
  })
})

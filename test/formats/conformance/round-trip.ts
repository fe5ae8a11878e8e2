import { wireFormats } from '../../../src/formats/all.ts'
import type { ModelCall } from '../../../src/formats/call/call.ts'
import { collectReply, type Reply, type ReplyEvent } from '../../../src/formats/call/event.ts'
import { type UsageCost, zeroUsage } from '../../../src/formats/call/usage.ts'
import type { GenerateWireFormat } from '../../../src/formats/vocabulary.ts'
import type { ReplyContext } from '../../../src/formats/wire-format.ts'
import { type SseFrame, SseReader } from '../../../src/platform/http/sse.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { compareRequests } from './compare-request.ts'
import { createTarget, resolveTierTarget } from './targets.ts'

export const cost: UsageCost = {
  total: 0.0042,
  isByok: false,
  upstream: 0.004,
  upstreamPrompt: 0.001,
  upstreamCompletion: 0.003,
}

/** Context of a client that requested every optional part of a reply. */
export function createContext(call: Partial<ModelCall> = {}): ReplyContext {
  return {
    id: 'gen-1790000000-Kx2',
    created: 1_790_000_000,
    model: 'acme/large',
    provider: 'Acme',
    tier: null,
    call: {
      messages: [],
      stream: true,
      unknown: [],
      logprobs: true,
      n: 2,
      reasoning: { enabled: true },
      ...call,
    },
    body: {},
  }
}

/** The body after serialization. */
export function toWireJson(body: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(body))
}

export interface RequestRoundTrip {
  body: JsonObject
  decoded: ModelCall
  /** Fields that the encoder reported as dropped. */
  dropped: string[]
  /** Differences that the comparison found. */
  differences: string[]
}

/** A call encoded for an upstream and decoded as that upstream would. */
export function roundTripRequest(call: ModelCall, upstream: GenerateWireFormat): RequestRoundTrip {
  const wireFormat = wireFormats[upstream]
  const { body, dropped } = wireFormat.upstream.encodeRequest(
    call,
    createTarget(upstream, resolveTierTarget(upstream, call)),
  )
  const wire = toWireJson(body)
  const decoded = wireFormat.client.decodeRequest(wire)
  return { body: wire, decoded, dropped, differences: compareRequests(call, decoded) }
}

/** The stream that a client of the format receives. */
export function encodeStream(
  wireFormat: GenerateWireFormat,
  events: ReplyEvent[],
  context = createContext(),
): string {
  const writer = wireFormats[wireFormat].client.createWriter(context)
  const usage = collectReply(events).usage ?? zeroUsage
  const contentEvents = events.filter(({ type }) => type !== 'reply-end')
  return contentEvents.map((event) => writer.write(event)).join('') + writer.end(usage, cost)
}

export function encodeWhole(
  wireFormat: GenerateWireFormat,
  events: ReplyEvent[],
  context = createContext(),
): JsonObject {
  return toWireJson(wireFormats[wireFormat].client.encodeReply(collectReply(events), context, cost))
}

/** The frames of a stream whose bytes are split at these positions. */
export function parseFrames(stream: string | Uint8Array, cuts: number[] = []): SseFrame[] {
  const bytes = typeof stream === 'string' ? new TextEncoder().encode(stream) : stream
  const reader = new SseReader()
  const edges = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  let from = 0
  const frames = edges.flatMap((edge) => {
    const chunk = bytes.subarray(from, edge)
    from = edge
    return reader.push(chunk)
  })
  return [...frames, ...reader.end()]
}

export function decodeFrames(wireFormat: GenerateWireFormat, frames: SseFrame[]): ReplyEvent[] {
  const reader = wireFormats[wireFormat].upstream.createReader()
  return [...frames.flatMap((frame) => reader.read(frame)), ...reader.end()]
}

export type ReplyMode = 'streamed' | 'whole'
export const replyModes: readonly ReplyMode[] = ['streamed', 'whole']

/** A reply encoded in a format and decoded again. */
export function roundTripEvents(
  wireFormat: GenerateWireFormat,
  mode: ReplyMode,
  events: ReplyEvent[],
): ReplyEvent[] {
  return mode === 'streamed'
    ? decodeFrames(wireFormat, parseFrames(encodeStream(wireFormat, events)))
    : wireFormats[wireFormat].upstream.decodeReply(encodeWhole(wireFormat, events))
}

export function roundTripReply(wireFormat: GenerateWireFormat, mode: ReplyMode, events: ReplyEvent[]): Reply {
  return collectReply(roundTripEvents(wireFormat, mode, events))
}

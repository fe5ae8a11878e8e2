import type { Call } from '../../call/call.ts'
import { collect, type Reply, type ReplyEvent } from '../../call/event.ts'
import { type Bill, noTokens } from '../../call/usage.ts'
import type { GenerateDialect } from '../../catalog/vocabulary.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { type SseFrame, SseReader } from '../../lib/sse.ts'
import { dialects } from '../all.ts'
import type { ReplyFacts } from '../dialect.ts'
import { requestDifferences } from './compare-request.ts'
import { laneOf, targetOf } from './targets.ts'

export const bill: Bill = {
  cost: 0.0042,
  isByok: false,
  upstreamCost: 0.004,
  upstreamPromptCost: 0.001,
  upstreamCompletionCost: 0.003,
}

/** A client that asked for all that a reply may hold. */
export function factsOf(call: Partial<Call> = {}): ReplyFacts {
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

/** What the wire does to a body. */
export function overTheWire(body: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(body))
}

export interface Carried {
  body: JsonObject
  arrived: Call
  /** What the encoder said it left out. */
  dropped: string[]
  /** What really differs. */
  differences: string[]
}

/** A call to an upstream, and as that upstream would understand it. */
export function carryRequest(call: Call, upstream: GenerateDialect): Carried {
  const dialect = dialects[upstream]
  const { body, dropped } = dialect.upstream.encodeRequest(call, targetOf(upstream, laneOf(upstream, call)))
  const wire = overTheWire(body)
  const arrived = dialect.client.decodeRequest(wire)
  return { body: wire, arrived, dropped, differences: requestDifferences(call, arrived) }
}

/** The bytes of a streamed reply, as a client of the format gets them. */
export function streamed(dialect: GenerateDialect, events: ReplyEvent[], facts = factsOf()): string {
  const writer = dialects[dialect].client.writer(facts)
  const usage = collect(events).usage ?? noTokens
  const inside = events.filter(({ type }) => type !== 'reply-end')
  return inside.map((event) => writer.write(event)).join('') + writer.end(usage, bill)
}

export function whole(dialect: GenerateDialect, events: ReplyEvent[], facts = factsOf()): JsonObject {
  return overTheWire(dialects[dialect].client.encodeReply(collect(events), facts, bill))
}

/** The frames of a stream whose bytes came in these pieces. */
export function framesOf(stream: string | Uint8Array, cuts: number[] = []): SseFrame[] {
  const bytes = typeof stream === 'string' ? new TextEncoder().encode(stream) : stream
  const reader = new SseReader()
  const edges = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  let from = 0
  const frames = edges.flatMap((edge) => {
    const piece = bytes.subarray(from, edge)
    from = edge
    return reader.push(piece)
  })
  return [...frames, ...reader.end()]
}

export function readFrames(dialect: GenerateDialect, frames: SseFrame[]): ReplyEvent[] {
  const reader = dialects[dialect].upstream.reader()
  return [...frames.flatMap((frame) => reader.read(frame)), ...reader.end()]
}

export type Way = 'streamed' | 'whole'
export const ways: readonly Way[] = ['streamed', 'whole']

/** A reply written in a format and read again. */
export function throughFormat(dialect: GenerateDialect, way: Way, events: ReplyEvent[]): ReplyEvent[] {
  return way === 'streamed'
    ? readFrames(dialect, framesOf(streamed(dialect, events)))
    : dialects[dialect].upstream.decodeReply(whole(dialect, events))
}

export function replyThrough(dialect: GenerateDialect, way: Way, events: ReplyEvent[]): Reply {
  return collect(throughFormat(dialect, way, events))
}

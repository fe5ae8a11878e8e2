import type { z } from 'zod'
import type { ModelCall } from '../call/call.ts'
import type { Reply, ReplyEvent } from '../call/event.ts'
import type { UpstreamFailure } from '../call/failure.ts'
import type { ReasoningFormat } from '../call/part.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import type { ReasoningHistory } from '../catalogue/provider.ts'
import type { DialectName, ServedTier, ServiceTier, WireCapability } from '../catalogue/vocabulary.ts'
import type { GatewayError } from '../errors/gateway-error.ts'
import type { JsonObject } from '../lib/json-values.ts'
import type { SseFrame } from '../lib/sse.ts'
import type { FormatNames } from './reasoning-format.ts'
import type { ReplyLimits } from './reply-losses.ts'

/**
 * A wire format, written once and used from both sides: what a client sends us an upstream may be sent,
 * and what an upstream answers a client may be given. Dialects do no I/O and know no provider.
 */
export interface Dialect {
  name: DialectName
  /** The client's side. */
  client: ClientCodec
  /** The upstream's side. */
  upstream: UpstreamCodec
  /** Client and upstream speak alike: what the gateway does not know passes untouched. */
  passthrough: Passthrough
}

export interface ClientCodec {
  /** The body was checked against the operation's schema; what is still wrong is a 400 that names the field. */
  decodeRequest(body: JsonObject): ModelCall
  /** From events to the client's stream. */
  createWriter(context: ReplyContext): ReplyWriter
  encodeReply(reply: Reply, context: ReplyContext, cost: UsageCost): JsonObject
  /** Its wish not to think is held to what a model can do; other formats switch thinking off as a matter of course. */
  rejectsMandatoryReasoning?: true
  /** Its whole replies can say that they broke off, and why. */
  canEncodeFailure?: true
  /** What of a reply it has no room for. */
  replyLimits: ReplyLimits
  /** Keeps a quiet stream alive. */
  heartbeat: string
  /** The content type of its streams; server-sent events when absent. */
  streamContentType?: string
  /** The body of an error answered with a status. */
  encodeError(error: GatewayError, requestId: string): JsonObject
  /** The form of that body, where it is not the API's own envelope with more beside it. */
  errorSchema?: z.ZodType
}

export interface UpstreamCodec {
  /** What the format itself expects of every request; a provider may differ. */
  defaults: DialectDefaults
  /** Where a prompt is counted without being answered, and what the count is called; absent where nobody counts. */
  tokenCounting?: TokenCounting
  encodeRequest(call: ModelCall, target: Target): UpstreamRequest
  /** One for each streamed reply: it remembers what is open. */
  createReader(): ReplyReader
  /** The events of a whole reply; a body that is no reply gives a `reply-error`. */
  decodeReply(body: JsonObject): ReplyEvent[]
  /** An answer with a status of 400 or more. */
  decodeError(status: number, body: unknown): UpstreamFailure
}

export interface TokenCounting {
  suffix: string
  field: string
  /** The only fields it takes; absent where it takes those of a request. */
  acceptedFields?: readonly string[]
}

export interface DialectDefaults {
  /** The header a key goes into; `Authorization: Bearer` when absent. */
  keyHeader?: string
  headers: Readonly<Record<string, string>>
  /** Whose reasoning signatures are at home in it. */
  signatureFormat: ReasoningFormat
}

export interface Passthrough {
  /** The client's body with only what must change: the model, our own fields out, what we need to know in. */
  passRequest(body: JsonObject, target: Target): UpstreamRequest
  createRelay(context: ReplyContext): Relay
  /** The upstream's body with our id, model, provider and bill; unknown fields stay. */
  passReply(body: JsonObject, context: ReplyContext, cost: UsageCost, usage: Usage): JsonObject
  /** What must be known of a whole reply, at a glance; undefined when it takes a proper reading. */
  summarizeReply?(body: JsonObject): ReplySummary | undefined
  /** Request headers of the client that go on to the upstream. */
  headers: readonly string[]
}

/** Where a request goes, as far as a body depends on it. */
export interface Target {
  /** The upstream's name of the model. */
  model: string
  stream: boolean
  /** Cap of the endpoint, for formats that require `max_tokens`. */
  maxOutputTokens: number | null
  /** How the model takes reasoning wishes; null when the catalogue does not know the model as a reasoning one. */
  reasoning: ReasoningCapability | null
  /** Whose signatures the upstream understands. */
  signatureFormat: ReasoningFormat
  /** How the chat format takes the thinking of earlier turns there. */
  reasoningHistory: ReasoningHistory
  /** Field names (see `fieldNames`) that this upstream would refuse; the encoder drops and reports them. */
  unsupportedFields: ReadonlySet<string>
  /** Words of the dialect that not every upstream knows. */
  capabilities: ReadonlySet<WireCapability>
  /** Thinks unless the request says otherwise, or whatever it says; null: as the request says. */
  reasoningMode: 'default' | 'always' | null
  /** The lane it goes to, beside the default one. */
  tier: ServiceTier | null
}

export interface ReasoningCapability {
  /** Highest first; null: all. */
  efforts: readonly string[] | null
  budget: boolean
}

export interface UpstreamRequest {
  /** After the base URL, such as `/chat/completions`. */
  path: string
  headers: Record<string, string>
  body: JsonObject
  /** What the client asked for and this body cannot say, in the names of `x-headgate-dropped`. */
  dropped: string[]
}

/** What a reply to a client says about itself. */
export interface ReplyContext {
  /** The id of the generation, `gen-...`. */
  id: string
  /** Unix seconds. */
  created: number
  /** The slug of the model that answered. */
  model: string
  /** Display name of the provider that answered. */
  provider: string
  /** The lane that was asked, which counts where the upstream does not say what served. */
  tier: ServedTier | null
  call: ModelCall
  /** The client's body: some formats repeat parts of it. */
  body: JsonObject
  /** Since the request arrived. */
  elapsedMs?: () => number
  /** Which names of reasoning formats the client wants; those the SDKs know when absent. */
  formatNames?: FormatNames
  /** How the reply came about, for a client that asked for it; called when its end is written. */
  explain?: () => JsonObject
}

/** What the end of a reply says about how it came about. */
export function encodeServiceMetadata({ explain }: ReplyContext): JsonObject {
  return explain ? { service_metadata: explain() } : {}
}

/** Events in, text of the client's stream out. Nothing about the end is written before `end` or `fail`. */
export interface ReplyWriter {
  write(event: ReplyEvent): string
  /** The reply is complete and charged: closes what is open, then finish reason, usage and bill, and the last event. */
  end(usage: Usage, cost: UsageCost): string
  /** The reply broke off: the error in the format's own form, and no sign of success. */
  fail(error: GatewayError): string
  /** After `end`: the whole reply as one object, in formats whose last event carries it. */
  readonly finalBody: JsonObject | null
}

/** Events of an upstream stream, from its frames. */
export interface ReplyReader {
  read(frame: SseFrame): ReplyEvent[]
  /** The stream is over: what still follows from what was read. Says `reply-end` only if the vendor had marked the end. */
  end(): ReplyEvent[]
}

/**
 * The upstream's frames to a client of the same dialect. Frames that finish the reply are kept back until
 * `end`, because the bill goes into them.
 */
export interface Relay {
  pass(frame: SseFrame): string
  readonly summary: ReplySummary
  /** The upstream's stream is over: what still follows from it. */
  close?(): string
  end(usage: Usage, cost: UsageCost): string
  fail(error: GatewayError): string
  readonly finalBody: JsonObject | null
}

/** A call of a tool, as the reply made it. */
export interface ToolCallSummary {
  choice: number
  part: number
  name: string
  arguments: string
  /** Free text in the place of JSON. */
  custom: boolean
}

/** What the gateway must know of a reply, however its bytes travel. */
export interface ReplySummary {
  /** Something of the answer itself was there: from now on no other endpoint can take over. */
  hasContent: boolean
  /** The upstream marked the end of its reply. */
  isComplete: boolean
  failure: UpstreamFailure | null
  usage: Usage | null
  /** By choice. */
  finishReasons: { reason: string; native: string | null }[]
  /** Characters of the answer, for an estimate when the usage is never told. */
  characters: number
  model: string | null
  /** The tier the upstream says it served with. */
  tier: ServedTier | null
  /** Where they are read anyway: a reply that passes unread does not tell. */
  toolCalls: ToolCallSummary[]
  /** What the client's format has no room for, by the names of `x-headgate-dropped`. */
  losses: string[]
  /** Tool calls, texts, images and other parts that were begun, as far as the format tells. */
  partCount: number
  /** Events that added something to the answer: comments, pings and empty deltas do not. */
  contentEvents: number
}

export function newReplySummary(): ReplySummary {
  return {
    hasContent: false,
    isComplete: false,
    failure: null,
    usage: null,
    finishReasons: [],
    characters: 0,
    model: null,
    tier: null,
    toolCalls: [],
    losses: [],
    partCount: 0,
    contentEvents: 0,
  }
}

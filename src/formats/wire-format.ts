import type { z } from 'zod'
import type { ReasoningHistory } from '../catalog/provider.ts'
import type { GatewayError } from '../platform/errors/gateway-error.ts'
import type { SseFrame } from '../platform/http/sse.ts'
import type { JsonObject } from '../platform/json/json-values.ts'
import type { ModelCall } from './call/call.ts'
import type { Reply, ReplyEvent } from './call/event.ts'
import type { UpstreamFailure } from './call/failure.ts'
import type { ReasoningFormat } from './call/part.ts'
import type { PlainPrompt } from './call/plain-prompt.ts'
import type { BilledUnits } from './call/units.ts'
import type { Usage, UsageCost } from './call/usage.ts'
import type { FormatNames } from './reasoning-format.ts'
import type { ListPaths } from './reply-lists.ts'
import type { ReplyLimits } from './reply-losses.ts'
import type { ServedTier, ServiceTier, WireCapability, WireFormatName } from './vocabulary.ts'

/** A wire format of upstreams. Wire formats do no I/O and contain no provider-specific code. */
export interface UpstreamFormat {
  name: WireFormatName
  /** Encodes requests to upstreams and decodes their replies. */
  upstream: UpstreamCodec
}

/** A wire format for both sides: clients and upstreams. */
export interface WireFormat extends UpstreamFormat {
  /** Decodes requests of clients and encodes replies to them. */
  client: ClientCodec
  /** Used when client and upstream have the same format: unknown fields pass unmodified. */
  passthrough: Passthrough
}

export interface ClientCodec {
  /** The body has passed the operation's schema; any other error is a 400 that names the field. */
  decodeRequest(body: JsonObject): ModelCall
  /** The prompt of a plain conversation, which need not be decoded to be passed through; null for any other body. */
  readPlain?(body: JsonObject): PlainPrompt | null
  /** Writes events into the client's stream. */
  createWriter(context: ReplyContext): ReplyWriter
  encodeReply(reply: Reply, context: ReplyContext, cost: UsageCost): JsonObject
  /** Disabling reasoning on a model that always reasons is an error; clients of other formats disable it by default. */
  rejectsMandatoryReasoning?: true
  /** A whole reply can carry the error that cut it off. */
  canEncodeFailure?: true
  /** The parts of a reply it cannot express. */
  replyLimits: ReplyLimits
  /** Written to an idle stream to keep the connection open. */
  heartbeat: string
  /** The content type of its streams; server-sent events when absent. */
  streamContentType?: string
  /** The body of an HTTP error. */
  encodeError(error: GatewayError, requestId: string): JsonObject
  /** The schema of that body, if it is not an extension of the API's error envelope. */
  errorSchema?: z.ZodType
}

export interface UpstreamCodec {
  /** Defaults of the format, which a provider may override. */
  defaults: WireFormatDefaults
  /** The endpoint that counts prompt tokens; absent if the format has none. */
  tokenCounting?: TokenCounting
  encodeRequest(call: ModelCall, target: Target): UpstreamRequest
  /** Absent if its vendors decide themselves what they cache. */
  promptCache?: PromptCacheCodec
  /** Creates a reader with the state of one streamed reply. */
  createReader(): ReplyReader
  /** The events of a whole reply; a malformed body gives a `reply-error`. */
  decodeReply(body: JsonObject): ReplyEvent[]
  /** The id of a reply that is not finished, to append to the path of the request; null for any other. */
  findPendingId?(body: JsonObject): string | null
  /** The lists that `decodeReply` reads: their entries are bounded before. */
  replyLists: ListPaths
  /** Decodes the body of a response with a status of 400 or more. */
  decodeError(status: number, body: unknown): UpstreamFailure
}

/** Marks what the prompt cache of a provider stores: the prompt up to a breakpoint. */
export interface PromptCacheCodec {
  /** The most breakpoints of a request. */
  maxBreakpoints: number
  /** The blocks of an encoded prompt, in the order in which they are cached; null if the client has set breakpoints. */
  listBlocks(body: JsonObject): PromptBlock[] | null
  /** The body with breakpoints after these blocks. */
  addBreakpoints(body: JsonObject, blocks: readonly PromptBlock[]): JsonObject
}

export interface PromptBlock {
  /** The field of the body, the index of the entry, and the index of the block in a message. */
  path: readonly [section: 'tools' | 'system' | 'messages', at: number, within: number | null]
  value: JsonObject
  /** What distinguishes the block besides its value, such as the role of its message. */
  head: string
  /** Whether a breakpoint may follow it. */
  canMark: boolean
}

export interface TokenCounting {
  /** Appended to the path of the request. */
  suffix: string
  /** The field of the response with the count. */
  field: string
  /** The only fields it accepts; absent if it accepts those of a request. */
  acceptedFields?: readonly string[]
}

export interface WireFormatDefaults {
  /** The header of the API key; `Authorization: Bearer` when absent. */
  keyHeader?: string
  /** The scheme of the key in `Authorization`; `Bearer` when absent. */
  keyScheme?: string
  headers: Readonly<Record<string, string>>
  /** The format of reasoning signatures that its vendor understands. */
  signatureFormat: ReasoningFormat
  /** The most messages in a request, if its vendor has a limit. */
  maxMessages?: number
}

export interface Passthrough {
  /** The client's body with the model replaced, gateway fields removed and required options added. */
  passRequest(body: JsonObject, target: Target): UpstreamRequest
  /** The same for a body that `readPlain` accepts. */
  passPlain?(body: JsonObject, target: Target): UpstreamRequest
  createRelay(context: ReplyContext): Relay
  /** The upstream's body with the gateway's id, model, provider and cost; unknown fields stay. */
  passReply(body: JsonObject, context: ReplyContext, cost: UsageCost, usage: Usage): JsonObject
  /** The summary of a plain whole reply; undefined when the reply must be decoded. */
  summarizeReply?(body: JsonObject): ReplySummary | undefined
  /** Client request headers forwarded to the upstream. */
  headers: readonly string[]
}

/** The properties of the endpoint that a request body depends on. */
export interface Target {
  /** The upstream's name for the model. */
  model: string
  stream: boolean
  /** The endpoint's limit, for formats that require `max_tokens`. */
  maxOutputTokens: number | null
  /** Null when the catalog does not list the model as a reasoning model. */
  reasoning: ReasoningCapability | null
  /** The format of reasoning signatures the upstream accepts. */
  signatureFormat: ReasoningFormat
  /** The form in which the upstream expects the reasoning of earlier turns in the chat format. */
  reasoningHistory: ReasoningHistory
  /** Names of fields (see `fieldNames`) this upstream rejects; the encoder drops and reports them. */
  unsupportedFields: ReadonlySet<string>
  /** Features of the wire format that not every upstream has. */
  capabilities: ReadonlySet<WireCapability>
  /** The condition on which the model reasons: by default, or always; null: as requested. */
  reasoningMode: 'default' | 'always' | null
  /** The service tier; null is the default tier. */
  tier: ServiceTier | null
}

export interface ReasoningCapability {
  /** Highest first; null: all. */
  efforts: readonly string[] | null
  budget: boolean
}

export interface UpstreamRequest {
  /** The path after the base URL, such as `/chat/completions`. */
  path: string
  headers: Record<string, string>
  body: JsonObject
  /** Requested fields this body cannot express, by their names in `x-headgate-dropped`. */
  dropped: string[]
}

/** Facts about the generation that a reply to a client includes. */
export interface ReplyContext {
  /** The id of the generation, `gen-...`. */
  id: string
  /** Unix seconds. */
  created: number
  /** Slug of the model that served the request. */
  model: string
  /** Display name of the provider that served the request. */
  provider: string
  /** The requested tier, reported when the upstream does not say which tier it served. */
  tier: ServedTier | null
  call: ModelCall
  /** The call sets no option that a reply depends on: it need not be decoded. */
  isPlain?: boolean
  /** The client's body: some formats echo parts of it. */
  body: JsonObject
  /** Milliseconds since the request arrived. */
  elapsedMs?: () => number
  /** The names of reasoning formats the client requested; those of the SDKs when absent. */
  formatNames?: FormatNames
  /** The SDK of the format's vendor, which may end a stream at an event that it does not know. */
  isVendorClient?: boolean
  /** Builds the routing metadata, if the client requested it; called when the end of the reply is written. */
  explain?: () => JsonObject
}

/** The routing metadata at the end of a reply. */
export function encodeServiceMetadata({ explain }: ReplyContext): JsonObject {
  return explain ? { service_metadata: explain() } : {}
}

/** Writes events into the client's stream. The end of the reply is written only by `end` or `fail`. */
export interface ReplyWriter {
  write(event: ReplyEvent): string
  /** The reply is complete: closes open parts, then writes finish reason, usage, cost and the last event. */
  end(usage: Usage, cost: UsageCost): string
  /** The reply was cut off: writes the format's error event, and nothing that marks success. */
  fail(error: GatewayError): string
  /** The whole reply, after `end`, in formats whose last event carries it. */
  readonly finalBody: JsonObject | null
}

/** Decodes the frames of an upstream stream into events. */
export interface ReplyReader {
  read(frame: SseFrame): ReplyEvent[]
  /** The stream ended: the remaining events. Includes `reply-end` only if the vendor marked the end of its reply. */
  end(): ReplyEvent[]
}

/**
 * Turns an upstream's frames into text for the client. Frames that finish the reply are held until `end`, because
 * they carry the cost.
 */
export interface Relay {
  pass(frame: SseFrame): string
  /** The text for the client of a chunk that is one event and resembles an earlier one; null if it must be read. */
  passWhole?(chunk: string): string | null
  readonly summary: ReplySummary
  /** The upstream's stream ended: the remaining text. */
  close?(): string
  end(usage: Usage, cost: UsageCost): string
  fail(error: GatewayError): string
  readonly finalBody: JsonObject | null
}

/** A tool call of the reply. */
export interface ToolCallSummary {
  choice: number
  part: number
  name: string
  arguments: string
  /** Free text instead of JSON arguments. */
  custom: boolean
}

/** Facts the gateway records about a reply, whether it is translated or relayed. */
export interface ReplySummary {
  /** Content has arrived: failover to another endpoint is no longer possible. */
  hasContent: boolean
  /** The upstream marked the end of its reply. */
  isComplete: boolean
  /** A turn has ended, and the next one has not begun: tools are run, and there is nothing to charge. */
  isBetweenTurns: boolean
  failure: UpstreamFailure | null
  usage: Usage | null
  /** Finish reasons by choice. */
  finishReasons: { reason: string; native: string | null }[]
  /** Characters of content, to estimate usage the upstream never reports. */
  characters: number
  model: string | null
  /** The tier the upstream reports. */
  tier: ServedTier | null
  /** Only from parsed replies: chunks relayed without parsing add none. */
  toolCalls: ToolCallSummary[]
  /** Content the client's format cannot express, by its names in `x-headgate-dropped`. */
  losses: string[]
  /** Parts that were started (text, tool calls, images), as far as the format shows it. */
  partCount: number
  /** Events that added content; comments, pings and empty deltas do not count. */
  contentEvents: number
  /** Units the reply is billed for besides tokens. */
  units: readonly BilledUnits[]
}

export function newReplySummary(): ReplySummary {
  return {
    hasContent: false,
    isComplete: false,
    isBetweenTurns: false,
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
    units: [],
  }
}

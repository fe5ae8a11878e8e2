import type { DataRegion } from '../../formats/vocabulary.ts'
import type { GenerationStatus } from '../../platform/db/generation-table.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'

/** A finished request as destinations receive it. It is stored until every destination has it: change it with care. */
export interface GenerationEvent {
  /** The generation. Repeated deliveries of an event have the same id. */
  id: string
  /** The id that a nested request is sampled by, that of its outer request; absent for a request of a client. */
  sampledId?: string
  trace: EventTrace
  /** Milliseconds since the epoch. */
  startedAt: number
  endedAt: number
  /** Time at which the first content of a stream arrived. */
  firstTokenAt: number | null
  region: DataRegion
  requestedModel: string
  model: string
  provider: string
  /** Its name in the GenAI conventions, where that is not the slug. Events of earlier versions have none. */
  telemetryProvider?: string
  /** `chat`, `embeddings` ... */
  operation: string
  streamed: boolean
  status: GenerationStatus
  error: { code: string; message: string } | null
  finishReason: string | null
  /** The sampling parameters and limits of the request. */
  parameters: JsonObject
  /** Number of declared tools, and names of those that were called: none in privacy mode. */
  tools: { declared: number; called: string[] }
  usage: EventUsage
  /** The client's own identifiers. */
  sessionId: string | null
  externalUser: string | null
  /** `name=value`, also in the metadata of the trace. Events of earlier versions have none. */
  tags?: readonly string[]
  /** Null in privacy mode, and for tasks whose content is not text. */
  input: EventInput | null
  output: EventOutput | null
  /** Null unless the destination receives it. */
  cost: EventCost | null
  identity: EventIdentity | null
  context: EventContext | null
}

export interface EventTrace {
  /** 32 and 16 hexadecimal digits. */
  traceId: string
  spanId: string
  parentSpanId: string | null
  /** What a nested request is made for, such as `advisor`; absent for a request of a client. */
  purpose?: string
  /** Names that the client gave. */
  traceName: string | null
  spanName: string | null
  generationName: string | null
  /** The client's further fields of `trace`. */
  metadata: JsonObject
  /** The stages, attempts and tools of the request, children of `spanId` unless they name another parent. */
  spans: EventSpan[]
}

/** OpenTelemetry's kinds: a span serves a request, sends one, or does neither. */
export type SpanKind = 'server' | 'client' | 'internal'

export interface EventSpan {
  spanId: string
  parentSpanId: string
  /** `guard`, `route`, `attempt openai` ... */
  name: string
  startedAt: number
  endedAt: number
  attributes: Record<string, string | number | boolean>
  error: string | null
  /** `internal` if absent. */
  kind?: SpanKind
}

export interface EventUsage {
  promptTokens: number
  completionTokens: number
  reasoningTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
}

/** Input in the client's format, without media. */
export type EventInput = { messages: unknown[] } | { prompt: string }

export interface EventOutput {
  completion: string | null
  reasoning: string | null
  tool_calls: { id: string; name: string; arguments: string }[]
}

/** Cost in US dollars. */
export interface EventCost {
  total: number
  upstream: number
  isByok: boolean
  serviceTier: string | null
}

export interface EventIdentity {
  organizationId: string
  workspaceId: string
  apiKeyName: string
  apiKeyHash: string
  /** The member whose key it is. */
  userId: string | null
}

export interface EventContext {
  requestId: string | null
  appUrl: string | null
  appTitle: string | null
  userAgent: string | null
  presetId: string | null
  endpoint: string
  dialect: string
  /** The guardrail filters that matched, without the text they matched. */
  filters: JsonObject[]
}

export function countTotalTokens({ promptTokens, completionTokens }: EventUsage): number {
  return promptTokens + completionTokens
}

import { fitJson, fitText } from './bounds.ts'
import {
  countTotalTokens,
  type EventContext,
  type EventCost,
  type EventIdentity,
  type EventSpan,
  type EventUsage,
  type GenerationEvent,
} from './event.ts'

/** Bytes of the parts of an event in JSON. The sum is below 1 MB, which most receivers accept for one record. */
export const partBytes = {
  input: 512 * 1024,
  output: 256 * 1024,
  metadata: 32 * 1024,
  parameters: 32 * 1024,
  spans: 64 * 1024,
  context: 32 * 1024,
  text: 2048,
}

export type EventJson = ReturnType<typeof toEventJson>

/** Identifiers and names. */
function fitName(text: string | null): string | null {
  return text === null ? null : fitText(text, partBytes.text)
}

/** An event as a JSON document: bounded, in snake case, times in ISO 8601. Every field is always present. */
export function toEventJson(event: GenerationEvent) {
  const { trace } = event
  return {
    id: event.id,
    trace_id: trace.traceId,
    span_id: trace.spanId,
    parent_span_id: trace.parentSpanId,
    trace_name: fitName(trace.traceName),
    span_name: fitName(trace.spanName),
    generation_name: fitName(trace.generationName),
    started_at: new Date(event.startedAt).toISOString(),
    ended_at: new Date(event.endedAt).toISOString(),
    duration_ms: Math.max(0, event.endedAt - event.startedAt),
    time_to_first_token_ms: event.firstTokenAt === null ? null : event.firstTokenAt - event.startedAt,
    region: event.region,
    operation: event.operation,
    model: fitText(event.model, partBytes.text),
    requested_model: fitText(event.requestedModel, partBytes.text),
    provider: event.provider,
    streamed: event.streamed,
    status: event.status,
    error: event.error && { code: event.error.code, message: fitText(event.error.message, partBytes.text) },
    finish_reason: fitName(event.finishReason),
    session_id: fitName(event.sessionId),
    user_id: fitName(event.externalUser),
    usage: toUsageJson(event.usage),
    model_parameters: fitJson(event.parameters, partBytes.parameters),
    tools: fitJson(event.tools, partBytes.context),
    input: fitJson(event.input, partBytes.input),
    output: fitJson(event.output, partBytes.output),
    metadata: fitJson(trace.metadata, partBytes.metadata),
    cost: event.cost && toCostJson(event.cost),
    identity: event.identity && toIdentityJson(event.identity),
    context: event.context && toContextJson(event.context),
    spans: fitJson(trace.spans.map(toSpanJson), partBytes.spans),
  }
}

function toUsageJson(usage: EventUsage) {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: countTotalTokens(usage),
    reasoning_tokens: usage.reasoningTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
  }
}

function toCostJson({ total, upstream, isByok, serviceTier }: EventCost) {
  return { total_usd: total, upstream_usd: upstream, is_byok: isByok, service_tier: serviceTier }
}

function toIdentityJson(identity: EventIdentity) {
  return {
    organization_id: identity.organizationId,
    workspace_id: identity.workspaceId,
    api_key_name: fitText(identity.apiKeyName, partBytes.text),
    api_key_hash: identity.apiKeyHash,
    user_id: identity.userId,
  }
}

function toContextJson(context: EventContext): unknown {
  const fields = {
    request_id: context.requestId,
    app_url: context.appUrl,
    app_title: context.appTitle,
    user_agent: context.userAgent,
    preset_id: context.presetId,
    endpoint: context.endpoint,
    dialect: context.dialect,
    filters: context.filters,
  }
  return fitJson(fields, partBytes.context)
}

function toSpanJson(span: EventSpan) {
  return {
    span_id: span.spanId,
    parent_span_id: span.parentSpanId,
    name: span.name,
    started_at: new Date(span.startedAt).toISOString(),
    ended_at: new Date(span.endedAt).toISOString(),
    attributes: span.attributes,
    error: span.error,
  }
}

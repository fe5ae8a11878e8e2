import { sha256 } from '../../platform/crypto/crypto.ts'
import { asObject, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { cleanText, fitJson, fitText } from './bounds.ts'
import { readInputMessages, readInputText, readOutputMessages, readOutputText } from './conversation.ts'
import { appendPath, defineDestination, secretField, textField, urlField } from './destination.ts'
import { encodeEach } from './encode-each.ts'
import { countTotalTokens, type EventSpan, type GenerationEvent } from './event.ts'
import { partBytes } from './event-json.ts'

/** Bytes of the input and output of the root span, which only previews those of the model's span. */
const previewBytes = 32 * 1024

/** Maximum length of a tag: Datadog cuts longer ones. */
const maxTagLength = 200

/** LLM Observability. */
export const datadog = defineDestination({
  type: 'datadog',
  fields: { apiKey: secretField, mlApp: textField, url: urlField.default('https://api.us5.datadoghq.com') },
  secrets: ['apiKey'],
  address: 'url',
  target: ({ url }) => appendPath(url, '/api/intake/llm-obs/v1/trace/spans'),
  // The intake rejects exports without spans; this endpoint validates the key.
  probe: ({ apiKey, url }) => ({
    request: { url: appendPath(url, '/api/v1/validate'), method: 'GET', headers: { 'dd-api-key': apiKey } },
  }),
  exporter: {
    maxEvents: 100,
    // A request may have 5 MB, a span 1 MB.
    maxBytes: 1024 * 1024,
    encode: async ({ apiKey, mlApp }, url, events) => {
      const spans = await encodeEach(events, (event) => JSON.stringify(toSpans(event)).slice(1, -1))
      return {
        url,
        method: 'POST',
        headers: { 'dd-api-key': apiKey, 'content-type': 'application/json' },
        body: `{"data":{"type":"span","attributes":{"ml_app":${JSON.stringify(mlApp)},"tags":["source:headgate"],"spans":[${spans.join(',')}]}}}`,
      }
    },
  },
})

/** A span of a model cannot have children, so a workflow is the parent of it and of the stages. */
function toSpans(event: GenerationEvent) {
  return [buildRoot(event), buildModelSpan(event), ...event.trace.spans.map((span) => buildTask(event, span))]
}

function buildRoot(event: GenerationEvent) {
  const { trace, input, output, firstTokenAt } = event
  return buildSpan(event, {
    id: trace.spanId,
    parent: trace.parentSpanId,
    name: trace.traceName ?? trace.spanName ?? event.operation,
    meta: {
      kind: 'workflow',
      ...(input && { input: { value: fitText(readInputText(input), previewBytes) } }),
      ...(output && { output: { value: fitText(readOutputText(output), previewBytes) } }),
      metadata: toMetadata(trace.metadata),
    },
    ...(firstTokenAt !== null && {
      metrics: { time_to_first_token: (firstTokenAt - event.startedAt) / 1000 },
    }),
  })
}

function buildModelSpan(event: GenerationEvent) {
  const { trace, usage, input, output, cost } = event
  const { promptTokens, cacheReadTokens, cacheWriteTokens } = usage
  return buildSpan(event, {
    id: sha256(`model ${event.id}`).slice(0, 16),
    parent: trace.spanId,
    name: trace.generationName ?? event.model,
    meta: {
      kind: event.operation === 'embeddings' ? 'embedding' : 'llm',
      ...(input && { input: { messages: fitMessages(readInputMessages(input), partBytes.input) } }),
      ...(output && { output: { messages: fitMessages(readOutputMessages(output), partBytes.output) } }),
      metadata: { ...toMetadata(event.parameters), ...describeModel(event) },
    },
    metrics: omitUndefined({
      input_tokens: promptTokens,
      output_tokens: usage.completionTokens,
      total_tokens: countTotalTokens(usage),
      non_cached_input_tokens: Math.max(0, promptTokens - cacheReadTokens - cacheWriteTokens),
      cache_read_input_tokens: cacheReadTokens,
      cache_write_input_tokens: cacheWriteTokens,
      reasoning_output_tokens: usage.reasoningTokens,
      total_cost: cost?.total,
    }),
  })
}

function describeModel(event: GenerationEvent): JsonObject {
  const { identity, context, cost } = event
  return toMetadata({
    model_name: event.model,
    model_provider: event.provider,
    requested_model: event.requestedModel,
    generation_id: event.id,
    operation: event.operation,
    region: event.region,
    streamed: event.streamed,
    status: event.status,
    finish_reason: event.finishReason,
    tools_declared: event.tools.declared,
    tools_called: event.tools.called.join(', '),
    ...(cost && { upstream_cost: cost.upstream, is_byok: cost.isByok, service_tier: cost.serviceTier }),
    ...(identity && {
      organization_id: identity.organizationId,
      workspace_id: identity.workspaceId,
      api_key_name: identity.apiKeyName,
      api_key_hash: identity.apiKeyHash,
      member_id: identity.userId,
    }),
    ...(context && {
      request_id: context.requestId,
      app_url: context.appUrl,
      app_title: context.appTitle,
      user_agent: context.userAgent,
      preset_id: context.presetId,
      endpoint: context.endpoint,
      dialect: context.dialect,
      filters: context.filters,
    }),
  })
}

function buildTask(event: GenerationEvent, span: EventSpan) {
  return buildSpan(event, {
    id: span.spanId,
    parent: span.parentSpanId,
    name: span.name,
    meta: { kind: 'task', metadata: toMetadata(span.attributes) },
    stage: span,
  })
}

interface SpanParts {
  id: string
  parent: string | null
  name: string
  meta: JsonObject
  metrics?: Record<string, number>
  /** Stage whose times the span has; if absent, the span has the times and the error of the generation. */
  stage?: EventSpan
}

function buildSpan(event: GenerationEvent, { id, parent, name, meta, metrics, stage }: SpanParts) {
  const { startedAt, endedAt } = stage ?? event
  const error = stage ? stage.error && { message: stage.error } : event.error
  return {
    trace_id: event.trace.traceId,
    span_id: toDecimal(id),
    // The text "undefined" marks a root span.
    parent_id: parent === null ? 'undefined' : toDecimal(parent),
    name: fitText(name, partBytes.text),
    start_ns: startedAt * 1e6,
    duration: (endedAt - startedAt) * 1e6,
    status: error ? 'error' : 'ok',
    ...(event.sessionId !== null && { session_id: fitText(event.sessionId, partBytes.text) }),
    tags: buildTags(event),
    meta: { ...meta, ...(error && { error: toError(error) }) },
    ...(metrics && { metrics }),
  }
}

function toError({ code, message }: { code?: string; message: string }) {
  return omitUndefined({ type: code, message: fitText(message, partBytes.text) })
}

function buildTags({ externalUser, identity, provider, model, tags = [] }: GenerationEvent): string[] {
  const own = omitUndefined({
    provider,
    model,
    user_id: externalUser ?? undefined,
    api_key_name: identity?.apiKeyName,
  })
  const named = [...Object.entries(own), ...tags.map((tag) => tag.split(/=(.*)/s, 2))]
  return named.map(([name, value]) => cleanText(`${name}:${value}`.slice(0, maxTagLength)))
}

/** The marker of messages that were left out is a message. */
function fitMessages(messages: unknown[], maxBytes: number): unknown[] {
  const fitted = fitJson(messages, maxBytes)
  return (Array.isArray(fitted) ? fitted : [fitted]).map((message) =>
    typeof message === 'string' ? { role: 'user', content: message } : message,
  )
}

/** Values may be numbers, booleans and text. */
function toMetadata(values: JsonObject): JsonObject {
  const entries = Object.entries(values).filter(([, value]) => value !== null && value !== undefined)
  const flat = entries.map(([name, value]) => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : value,
  ])
  const fitted = fitJson(Object.fromEntries(flat), partBytes.metadata)
  return asObject(fitted) ?? { truncated: true }
}

/** Datadog writes the ids of spans in decimal. */
function toDecimal(spanId: string): string {
  return /^[0-9a-f]{16}$/i.test(spanId) ? BigInt(`0x${spanId}`).toString() : spanId
}

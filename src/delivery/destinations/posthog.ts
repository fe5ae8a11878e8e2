import { deriveUuid, uuidPattern } from '../../platform/crypto/ids.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { fitJson, fitText } from './bounds.ts'
import { appendPath, buildJsonPost, defineDestination, secretField, urlField } from './destination.ts'
import { encodeEach } from './encode-each.ts'
import type { EventSpan, GenerationEvent } from './event.ts'
import { type EventJson, partBytes, toEventJson } from './event-json.ts'

/** PostHog cuts longer ones. */
const maxDistinctIdBytes = 200

export const posthog = defineDestination({
  type: 'posthog',
  fields: { apiKey: secretField, endpoint: urlField.default('https://us.i.posthog.com') },
  secrets: ['apiKey'],
  address: 'endpoint',
  target: ({ endpoint }) => appendPath(endpoint, '/batch/'),
  // A batch must have an event.
  probe: ({ apiKey }, url) => ({
    request: buildJsonPost(
      url,
      {},
      {
        api_key: apiKey,
        batch: [
          {
            event: 'headgate connection test',
            distinct_id: 'headgate',
            properties: { $process_person_profile: false },
          },
        ],
      },
    ),
  }),
  exporter: {
    maxEvents: 200,
    // A batch may have 20 MB.
    maxBytes: 1024 * 1024,
    encode: async ({ apiKey }, url, events) => {
      const batch = await encodeEach(events, (event) => JSON.stringify(toCaptures(event)).slice(1, -1))
      return {
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"api_key":${JSON.stringify(apiKey)},"batch":[${batch.join(',')}]}`,
      }
    },
    findFailure,
  },
})

/** The events that describe a generation. PostHog stores events with the same UUID once. */
function toCaptures(event: GenerationEvent) {
  const json = toEventJson(event)
  const spans = event.trace.spans.map((span) => buildSpan(json, span))
  const isNamed = json.trace_name !== null
  return [buildGeneration(json), ...spans, ...(isNamed ? [buildTrace(json)] : [])]
}

function buildGeneration(json: EventJson) {
  const parameters = asObject(json.model_parameters) ?? {}
  return buildCapture(json, json.operation === 'embeddings' ? '$ai_embedding' : '$ai_generation', {
    uuid: deriveUuid('generation', json.id),
    timestamp: json.started_at,
    properties: {
      $ai_span_id: json.span_id,
      $ai_parent_id: json.parent_span_id ?? json.trace_id,
      $ai_span_name: json.generation_name ?? json.span_name ?? json.operation,
      $ai_model: json.model,
      $ai_provider: json.provider,
      $ai_model_parameters: parameters,
      $ai_temperature: parameters.temperature,
      $ai_max_tokens: parameters.max_tokens,
      $ai_stream: json.streamed,
      $ai_input: toInput(json.input),
      $ai_output_choices: toChoices(json.output),
      $ai_input_tokens: json.usage.prompt_tokens,
      $ai_output_tokens: json.usage.completion_tokens,
      $ai_reasoning_tokens: json.usage.reasoning_tokens,
      $ai_cache_read_input_tokens: json.usage.cache_read_tokens,
      $ai_cache_creation_input_tokens: json.usage.cache_write_tokens,
      $ai_total_cost_usd: json.cost?.total_usd,
      $ai_latency: json.duration_ms / 1000,
      $ai_time_to_first_token:
        json.time_to_first_token_ms === null ? undefined : json.time_to_first_token_ms / 1000,
      $ai_is_error: json.error !== null,
      $ai_error: json.error ?? undefined,
      ...describeRequest(json),
    },
  })
}

/** Properties of Headgate, beside those that PostHog defines. Names of clients have a prefix and cannot replace any. */
function describeRequest(json: EventJson): JsonObject {
  const metadata = Object.entries(asObject(json.metadata) ?? {})
  return {
    generation_id: json.id,
    operation: json.operation,
    requested_model: json.requested_model,
    region: json.region,
    status: json.status,
    finish_reason: json.finish_reason,
    tools: json.tools,
    ...(json.cost && { cost: json.cost }),
    ...(json.identity && { identity: json.identity }),
    ...(json.context !== null && { context: json.context }),
    ...Object.fromEntries(metadata.map(([name, value]) => [`metadata.${name}`, value])),
  }
}

function buildSpan(json: EventJson, span: EventSpan) {
  return buildCapture(json, '$ai_span', {
    uuid: deriveUuid('span', json.id, span.spanId),
    timestamp: new Date(span.startedAt).toISOString(),
    properties: {
      $ai_span_id: span.spanId,
      $ai_parent_id: span.parentSpanId,
      $ai_span_name: fitJson(span.name, partBytes.text),
      $ai_latency: (span.endedAt - span.startedAt) / 1000,
      $ai_is_error: span.error !== null,
      $ai_error: span.error === null ? undefined : fitJson(span.error, partBytes.text),
      attributes: fitJson(span.attributes, partBytes.spans),
    },
  })
}

/** Names the trace. Its generations share the event. */
function buildTrace(json: EventJson) {
  return buildCapture(json, '$ai_trace', {
    uuid: deriveUuid('trace', json.trace_id),
    timestamp: json.started_at,
    properties: { $ai_span_name: json.trace_name },
  })
}

function buildCapture(
  json: EventJson,
  event: string,
  { uuid, timestamp, properties }: { uuid: string; timestamp: string; properties: JsonObject },
) {
  const { session_id, user_id, trace_id } = json
  return {
    event,
    uuid,
    distinct_id: fitText(user_id ?? trace_id, maxDistinctIdBytes),
    timestamp,
    properties: {
      ...properties,
      $ai_trace_id: trace_id,
      ...(session_id !== null && { $ai_session_id: session_id }),
      // The sessions of PostHog itself, with recordings, have UUIDs.
      ...(session_id !== null && uuidPattern.test(session_id) && { $session_id: session_id }),
      // An event without a user creates no person.
      ...(user_id === null && { $process_person_profile: false }),
    },
  }
}

function toInput(input: unknown): unknown {
  const { messages, prompt } = asObject(input) ?? {}
  if (messages !== undefined) return messages
  const text = prompt ?? asString(input)
  return text === undefined ? undefined : [{ role: 'user', content: text }]
}

function toChoices(output: unknown): unknown {
  if (output === null) return undefined
  const { completion, reasoning, tool_calls } = asObject(output) ?? { completion: output }
  const calls = asObjects(tool_calls).map(({ id, name, arguments: text }) => ({
    type: 'function',
    id,
    function: { name, arguments: text },
  }))
  const content = [
    ...(typeof reasoning === 'string' ? [{ type: 'thinking', thinking: reasoning }] : []),
    ...(typeof completion === 'string' ? [{ type: 'text', text: completion }] : []),
    ...calls,
  ]
  return [{ role: 'assistant', content }]
}

/** Finds a quota that is exceeded: PostHog then drops events without an error. */
function findFailure(status: number, body: string): string | undefined {
  if (status !== 200) return undefined
  const { quota_limited } = asObject(tryParseJson(body)) ?? {}
  const isLimited = Array.isArray(quota_limited) && quota_limited.length > 0
  return isLimited ? `The quota of the project is used up: ${quota_limited.join(', ')}.` : undefined
}

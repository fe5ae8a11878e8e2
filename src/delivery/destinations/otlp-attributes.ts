import {
  ATTR_ERROR_TYPE,
  ATTR_GEN_AI_CONVERSATION_ID,
  ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_CHOICE_COUNT,
  ATTR_GEN_AI_REQUEST_FREQUENCY_PENALTY,
  ATTR_GEN_AI_REQUEST_MAX_TOKENS,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_REQUEST_PRESENCE_PENALTY,
  ATTR_GEN_AI_REQUEST_SEED,
  ATTR_GEN_AI_REQUEST_STOP_SEQUENCES,
  ATTR_GEN_AI_REQUEST_STREAM,
  ATTR_GEN_AI_REQUEST_TEMPERATURE,
  ATTR_GEN_AI_REQUEST_TOP_K,
  ATTR_GEN_AI_REQUEST_TOP_P,
  ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  ATTR_GEN_AI_RESPONSE_ID,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
  ATTR_GEN_AI_SYSTEM,
  ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_COMPLETION_TOKENS,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  ATTR_GEN_AI_USAGE_PROMPT_TOKENS,
  ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
  ATTR_SESSION_ID,
  ATTR_USER_AGENT_ORIGINAL,
  ATTR_USER_ID,
} from '@opentelemetry/semantic-conventions/incubating'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { countTotalTokens, type GenerationEvent } from './event.ts'
import { formatJson, prefixFields, secondsToFirstToken } from './otlp-fields.ts'
import type { SpanAttributes } from './otlp-mapping.ts'

/** The attributes of a request by the GenAI conventions, with the older names that many products still read. */
export function buildRequestAttributes(event: GenerationEvent): SpanAttributes {
  return {
    [ATTR_GEN_AI_OPERATION_NAME]: event.operation,
    [ATTR_GEN_AI_PROVIDER_NAME]: event.telemetryProvider ?? event.provider,
    [ATTR_GEN_AI_SYSTEM]: event.provider,
    [ATTR_GEN_AI_REQUEST_MODEL]: event.requestedModel,
    [ATTR_GEN_AI_REQUEST_STREAM]: event.streamed,
    [ATTR_GEN_AI_RESPONSE_MODEL]: event.model,
    [ATTR_GEN_AI_RESPONSE_ID]: event.id,
    [ATTR_GEN_AI_RESPONSE_FINISH_REASONS]: event.finishReason === null ? undefined : [event.finishReason],
    [ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK]: secondsToFirstToken(event),
    ...buildUsageAttributes(event),
    ...buildParameterAttributes(event.parameters),
    [ATTR_GEN_AI_CONVERSATION_ID]: event.sessionId ?? undefined,
    [ATTR_ERROR_TYPE]: event.error?.code,
    'headgate.status': event.status,
    'headgate.region': event.region,
    'headgate.request.purpose': event.trace.purpose,
    'headgate.tools.declared': event.tools.declared,
    'headgate.tools.called': event.tools.called.length === 0 ? undefined : event.tools.called,
    'trace.name': event.trace.traceName ?? undefined,
    'trace.span_name': event.trace.spanName ?? undefined,
    ...prefixFields('trace.metadata.', event.trace.metadata),
    ...buildOptionalAttributes(event),
  }
}

/** Attributes of every span of the trace: products group spans by them. */
export function buildSharedAttributes(event: GenerationEvent): SpanAttributes {
  return {
    [ATTR_USER_ID]: event.externalUser ?? undefined,
    [ATTR_SESSION_ID]: event.sessionId ?? undefined,
  }
}

function buildUsageAttributes({ usage }: GenerationEvent): SpanAttributes {
  return {
    [ATTR_GEN_AI_USAGE_INPUT_TOKENS]: usage.promptTokens,
    [ATTR_GEN_AI_USAGE_OUTPUT_TOKENS]: usage.completionTokens,
    [ATTR_GEN_AI_USAGE_PROMPT_TOKENS]: usage.promptTokens,
    [ATTR_GEN_AI_USAGE_COMPLETION_TOKENS]: usage.completionTokens,
    'gen_ai.usage.total_tokens': countTotalTokens(usage),
    [ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS]: usage.cacheReadTokens,
    [ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS]: usage.cacheWriteTokens,
    [ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS]: usage.reasoningTokens,
  }
}

/** Attributes by the names of parameters in the formats of clients. */
const parameterNames = new Map<string, string>([
  ['temperature', ATTR_GEN_AI_REQUEST_TEMPERATURE],
  ['top_p', ATTR_GEN_AI_REQUEST_TOP_P],
  ['top_k', ATTR_GEN_AI_REQUEST_TOP_K],
  ['max_tokens', ATTR_GEN_AI_REQUEST_MAX_TOKENS],
  ['max_completion_tokens', ATTR_GEN_AI_REQUEST_MAX_TOKENS],
  ['max_output_tokens', ATTR_GEN_AI_REQUEST_MAX_TOKENS],
  ['frequency_penalty', ATTR_GEN_AI_REQUEST_FREQUENCY_PENALTY],
  ['presence_penalty', ATTR_GEN_AI_REQUEST_PRESENCE_PENALTY],
  ['seed', ATTR_GEN_AI_REQUEST_SEED],
  ['n', ATTR_GEN_AI_REQUEST_CHOICE_COUNT],
  ['dimensions', ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT],
])

function buildParameterAttributes(parameters: JsonObject): SpanAttributes {
  const { stop, stop_sequences = stop, ...others } = parameters
  const entries = Object.entries(prefixFields('', others))
  return {
    ...Object.fromEntries(
      entries.map(([name, value]) => [parameterNames.get(name) ?? `headgate.parameters.${name}`, value]),
    ),
    [ATTR_GEN_AI_REQUEST_STOP_SEQUENCES]: toTexts(stop_sequences),
  }
}

function toTexts(value: unknown): string[] | undefined {
  const texts = (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string')
  return texts.length === 0 ? undefined : texts
}

/** Cost, identity and context, where the destination receives them. */
function buildOptionalAttributes({ cost, identity, context }: GenerationEvent): SpanAttributes {
  return {
    'gen_ai.usage.cost': cost?.total,
    'headgate.cost.upstream': cost?.upstream,
    'headgate.cost.is_byok': cost?.isByok,
    'headgate.service_tier': cost?.serviceTier ?? undefined,
    'headgate.organization.id': identity?.organizationId,
    'headgate.workspace.id': identity?.workspaceId,
    'headgate.api_key.name': identity?.apiKeyName,
    'headgate.api_key.hash': identity?.apiKeyHash,
    'headgate.member.id': identity?.userId ?? undefined,
    'headgate.request.id': context?.requestId ?? undefined,
    'headgate.request.endpoint': context?.endpoint,
    'headgate.request.format': context?.dialect,
    'headgate.preset.id': context?.presetId ?? undefined,
    'headgate.app.url': context?.appUrl ?? undefined,
    'headgate.app.title': context?.appTitle ?? undefined,
    'headgate.filters': context && context.filters.length > 0 ? formatJson(context.filters) : undefined,
    [ATTR_USER_AGENT_ORIGINAL]: context?.userAgent ?? undefined,
  }
}

import type {
  EventInput,
  EventOutput,
  EventTrace,
  EventUsage,
  GenerationEvent,
} from '../../delivery/destinations/event.ts'
import { countCompletionTokens, countPromptTokens, type Usage } from '../../formats/call/usage.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import { mergeHits } from '../../governance/guardrail-hits.ts'
import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import { splitTag, splitTags } from '../../governance/tags/tag.ts'
import type { ApiKey } from '../../identity/keys.ts'
import type { SettledGeneration } from '../../ledger/settlement.ts'
import { asNumber, type JsonObject } from '../../platform/json/json-values.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import type { MeasuredContent, RequestFormat, RequestState } from '../request/inference-request.ts'
import { limitUser } from './event-trace.ts'

/** Details of an event beyond the record of its generation. A generation whose request is gone has few of them. */
export interface EventDetails {
  /** The id that destinations sample the request by. */
  sampledId: string
  trace: EventTrace
  key: Pick<ApiKey, 'name' | 'hash'>
  /** The name of the provider in traces. */
  telemetryProvider: string
  /** Milliseconds since the epoch. */
  endedAt: number
  errorMessage: string | null
  parameters: JsonObject
  tools: GenerationEvent['tools']
  hits: readonly GuardrailHit[]
  input: EventInput | null
  output: EventOutput | null
}

/** The complete event: what a destination must not have is removed before it is sent. */
export function buildEvent(settled: SettledGeneration, details: EventDetails): GenerationEvent {
  const { draft, target, charge, end } = settled
  const startedAt = Date.parse(draft.created_at)
  const firstTokenMs = end.first_token_ms ?? null
  const tags = splitTags(draft.tags)
  const {
    sampledId,
    trace,
    key,
    telemetryProvider,
    endedAt,
    errorMessage,
    parameters,
    tools,
    input,
    output,
  } = details
  return {
    id: draft.id,
    ...(sampledId !== draft.id && { sampledId }),
    trace: tags.length === 0 ? trace : { ...trace, metadata: { ...toFields(tags), ...trace.metadata } },
    startedAt,
    endedAt,
    firstTokenAt: firstTokenMs === null ? null : Math.min(startedAt + firstTokenMs, endedAt),
    region: draft.region as DataRegion,
    requestedModel: draft.requested_model,
    model: target.model,
    provider: target.provider,
    ...(telemetryProvider !== target.provider && { telemetryProvider }),
    operation: operationNames[draft.api_type ?? ''] ?? draft.api_type ?? 'chat',
    streamed: draft.streamed === 1,
    status: end.status,
    error: end.error_code ? { code: end.error_code, message: errorMessage ?? end.error_code } : null,
    finishReason: end.finish_reason ?? null,
    parameters,
    tools,
    usage: toEventUsage(charge.usage),
    sessionId: draft.session_id,
    externalUser: limitUser(draft.external_user),
    tags,
    input,
    output,
    cost: {
      total: usdFromNanos(charge.cost),
      upstream: usdFromNanos(charge.upstream),
      isByok: target.is_byok === 1,
      serviceTier: end.service_tier ?? null,
    },
    identity: {
      organizationId: draft.organization_id,
      workspaceId: draft.workspace_id,
      apiKeyName: key.name,
      apiKeyHash: key.hash,
      userId: draft.user_id,
    },
    context: buildContext(settled, details.hits),
  }
}

function buildContext(
  { draft, target }: SettledGeneration,
  hits: readonly GuardrailHit[],
): GenerationEvent['context'] {
  return {
    requestId: draft.request_id,
    appUrl: draft.app_url,
    appTitle: draft.app_title,
    userAgent: draft.user_agent,
    presetId: draft.preset_id,
    endpoint: target.endpoint,
    dialect: draft.dialect,
    filters: mergeHits(hits).slice(0, maxFilters).map(toEventFilter),
  }
}

const maxFilters = 100

/** Describes a match without the text that matched. */
function toEventFilter({ rule, action, isEnforced, direction, part, count }: GuardrailHit): JsonObject {
  return { rule, action, enforced: isEnforced, direction, part, count }
}

/** Operation names by `api_type`, where the two differ. */
const operationNames: Record<string, string> = {
  completions: 'chat',
  image: 'images',
  tts: 'speech',
  stt: 'transcriptions',
}

function toEventUsage(usage: Usage): EventUsage {
  return {
    promptTokens: countPromptTokens(usage),
    completionTokens: countCompletionTokens(usage),
    reasoningTokens: usage.reasoning,
    cacheReadTokens: usage.cacheRead + usage.cacheReadAudio,
    cacheWriteTokens: usage.cacheWrite + usage.cacheWrite1h,
  }
}

/** The dimensions that a request for embeddings asks for. */
export function readDimensions(
  { task }: Pick<RequestFormat, 'task'>,
  { body }: Pick<MeasuredContent, 'body'>,
): number | undefined {
  return task === 'embeddings' ? asNumber(body.dimensions) : undefined
}

/** Clients may send more and longer ones to some providers. */
const maxStops = 16
const maxStopLength = 256

/**
 * The sampling parameters and limits of a request, by their names in the Chat format. Stop sequences are text of the
 * client, which not every destination receives.
 */
export function readParameters(
  { format, content }: Pick<RequestState, 'format' | 'content'>,
  includesContent: boolean,
): JsonObject {
  const { call } = content
  const stop = includesContent ? call.stop?.slice(0, maxStops) : undefined
  const parameters: JsonObject = {
    max_tokens: call.maxTokens,
    temperature: call.temperature,
    top_p: call.topP,
    top_k: call.topK,
    min_p: call.minP,
    top_a: call.topA,
    frequency_penalty: call.frequencyPenalty,
    presence_penalty: call.presencePenalty,
    repetition_penalty: call.repetitionPenalty,
    seed: call.seed,
    n: call.n,
    stop: stop?.map((text) => text.slice(0, maxStopLength)),
    dimensions: readDimensions(format, content),
    logprobs: call.logprobs,
    top_logprobs: call.topLogprobs,
    verbosity: call.verbosity,
    service_tier: call.serviceTier,
    parallel_tool_calls: call.parallelToolCalls,
    tool_choice: call.toolChoice?.kind,
    response_format: call.format?.kind,
    reasoning_effort: call.reasoning?.effort,
    reasoning_max_tokens: call.reasoning?.maxTokens,
  }
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined))
}

function toFields(tags: readonly string[]): JsonObject {
  return Object.fromEntries(tags.map((tag) => splitTag(tag)).map(({ name, value }) => [name, value]))
}

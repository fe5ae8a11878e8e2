import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { ModelCall, ReasoningOptions, ResponseFormat } from '../call/call.ts'
import { findNearestEffort, isReasoningRequested, resolveEffort } from '../call/reasoning.ts'
import { dropUnsupportedFields, Losses } from '../fields.ts'
import { resolveTier } from '../tier.ts'
import type { Target, UpstreamRequest } from '../wire-format.ts'
import { encodeMessages } from './messages-encode.ts'
import { encodeToolChoice, encodeTools } from './tools.ts'

export const requestPath = '/chat/completions'
/** The limit a reasoning budget is measured against when none is set. */
const defaultMaxOutput = 16_384

export function encodeRequest(original: ModelCall, target: Target): UpstreamRequest {
  const losses = new Losses()
  const call = dropUnsupportedFields(original, target.unsupportedFields, losses)
  losses.addFields(call, 'cache')
  const body: JsonObject = omitUndefined({
    model: target.model,
    messages: encodeMessages(call.messages, target, losses),
    ...encodeToolFields(call, losses),
    [maxTokensFieldOf(target)]: call.maxTokens,
    ...encodeSampling(call),
    response_format: call.format && encodeFormat(call.format),
    ...encodeReasoning(call.reasoning, call.maxTokens, target, losses),
    verbosity: call.verbosity,
    modalities: call.modalities,
    audio: call.audio,
    image_config: call.imageConfig,
    prediction: call.prediction === undefined ? undefined : { type: 'content', content: call.prediction },
    prompt_cache_key: call.promptCacheKey,
    service_tier: resolveTier(call.serviceTier, target, losses),
    user: call.user,
    metadata: call.metadata,
    ...encodeStreamFields(target),
  })
  return { path: requestPath, headers: {}, body, dropped: losses.list() }
}

export function maxTokensFieldOf(target: Target): string {
  return target.capabilities.has('max_completion_tokens') ? 'max_completion_tokens' : 'max_tokens'
}

/** Most upstreams only send the usage of a stream on request. */
export function encodeStreamFields(target: Target): JsonObject {
  if (!target.stream) return {}
  const options = target.capabilities.has('stream_usage') ? { stream_options: { include_usage: true } } : {}
  return { stream: true, ...options }
}

function encodeSampling(call: ModelCall): JsonObject {
  return {
    temperature: call.temperature,
    top_p: call.topP,
    top_k: call.topK,
    min_p: call.minP,
    top_a: call.topA,
    frequency_penalty: call.frequencyPenalty,
    presence_penalty: call.presencePenalty,
    repetition_penalty: call.repetitionPenalty,
    seed: call.seed,
    stop: call.stop,
    logit_bias: call.logitBias,
    logprobs: call.logprobs,
    top_logprobs: call.topLogprobs,
    n: call.n,
  }
}

/** Upstreams reject a tool choice without tools. */
function encodeToolFields(call: ModelCall, losses: Losses): JsonObject {
  const tools = encodeTools(call.tools ?? [], losses)
  if (tools.length === 0) return {}
  return {
    tools,
    tool_choice: call.toolChoice && encodeToolChoice(call.toolChoice, call.tools ?? [], losses),
    parallel_tool_calls: call.parallelToolCalls,
  }
}

function encodeFormat(format: ResponseFormat): JsonObject {
  switch (format.kind) {
    case 'json':
      return { type: 'json_object' }
    case 'grammar':
      return { type: 'grammar', grammar: format.grammar }
    case 'schema': {
      const { name, schema, strict, description } = format
      return {
        type: 'json_schema',
        json_schema: omitUndefined({ name: name ?? 'response', description, schema, strict }),
      }
    }
    default:
      return { type: format.kind }
  }
}

/** This format only has efforts: every other option is converted to one. */
export function encodeReasoning(
  options: ReasoningOptions | undefined,
  maxTokens: number | undefined,
  target: Target,
  losses: Losses,
): JsonObject {
  if (!options) return {}
  if (options.summary !== undefined) losses.add('reasoning.summary')
  // Without an effort, a model of this format may not reason at all.
  const adaptiveEffort = options.adaptive ? 'medium' : undefined
  const effort =
    resolveEffort(options, maxTokens ?? target.maxOutputTokens ?? defaultMaxOutput) ?? adaptiveEffort
  if (effort === undefined) return {}
  if (target.reasoning) return { reasoning_effort: findNearestEffort(effort, target.reasoning.efforts) }
  if (effort === 'none') return {}
  if (options.effort !== undefined) return { reasoning_effort: effort }
  if (isReasoningRequested(options)) losses.add('reasoning')
  return {}
}

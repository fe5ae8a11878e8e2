import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { Message, ModelCall, ResponseFormat } from '../call/call.ts'
import { findNearestEffort, isReasoningRequested, resolveEffort } from '../call/reasoning.ts'
import { type CallField, dropUnsupportedFields, Losses } from '../fields.ts'
import { resolveTier } from '../tier.ts'
import type { Target, UpstreamRequest } from '../wire-format.ts'
import { encodeItems } from './items-encode.ts'
import { logprobsInclude } from './request-decode.ts'
import { encodeToolChoice, encodeTools } from './tools.ts'

export const requestPath = '/responses'
export const encryptedInclude = 'reasoning.encrypted_content'

/** Fields this format does not have. */
const unsupportedFields: CallField[] = [
  'topK',
  'minP',
  'topA',
  'frequencyPenalty',
  'presencePenalty',
  'repetitionPenalty',
  'seed',
  'stop',
  'logitBias',
  'audio',
  'imageConfig',
  'prediction',
  'cache',
]

/** The API rejects a lower limit. */
const minOutputTokens = 16

/** The limit a reasoning budget is measured against when none is set. */
export const defaultMaxOutput = 64_000

export function encodeRequest(original: ModelCall, target: Target): UpstreamRequest {
  const losses = new Losses()
  const call = dropUnsupportedFields(original, target.unsupportedFields, losses)
  losses.addFields(call, ...unsupportedFields)
  if ((call.n ?? 1) > 1) losses.add('n')
  if (call.modalities?.some((modality) => modality !== 'text')) losses.add('modalities')
  const { instructions, rest } = splitInstructions(call.messages)
  const body = omitUndefined({
    model: target.model,
    instructions,
    input: encodeItems({ messages: rest, tools: call.tools }, target, losses),
    ...encodeToolFields(call, losses),
    ...encodePlainFields(call, target, losses),
    text: encodeText(call, losses),
    reasoning: encodeReasoning(call, target, losses),
    include: encodeInclude(call, target),
    store: false,
    stream: target.stream ? true : undefined,
  })
  return { path: requestPath, headers: {}, body, dropped: losses.list() }
}

/** The first system message, if it is plain text and other messages follow. */
function splitInstructions(messages: Message[]): { instructions?: string; rest: Message[] } {
  const [first, ...rest] = messages
  const isPlain = first?.role === 'system' && first.name === undefined && rest.length > 0
  const [part] = isPlain ? first.parts : []
  if (!isPlain || first.parts.length !== 1 || part?.kind !== 'text' || part.cache) return { rest: messages }
  return { instructions: part.text, rest }
}

function encodeToolFields(call: ModelCall, losses: Losses): JsonObject {
  const tools = encodeTools(call.tools ?? [], losses)
  return {
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: call.toolChoice && encodeToolChoice(call.toolChoice, call.tools ?? [], losses),
    parallel_tool_calls: call.parallelToolCalls,
  }
}

function encodePlainFields(call: ModelCall, target: Target, losses: Losses): JsonObject {
  return {
    max_output_tokens: call.maxTokens === undefined ? undefined : Math.max(call.maxTokens, minOutputTokens),
    temperature: call.temperature,
    top_p: call.topP,
    top_logprobs: call.logprobs ? call.topLogprobs : undefined,
    prompt_cache_key: call.promptCacheKey,
    service_tier: resolveTier(call.serviceTier, target, losses),
    user: call.user,
    metadata: call.metadata,
  }
}

function encodeText(call: ModelCall, losses: Losses): JsonObject | undefined {
  const format = call.format && encodeFormat(call.format, losses)
  if (!format && call.verbosity === undefined) return undefined
  return omitUndefined({ format, verbosity: call.verbosity })
}

function encodeFormat(format: ResponseFormat, losses: Losses): JsonObject | undefined {
  if (format.kind === 'text') return { type: 'text' }
  if (format.kind === 'json') return { type: 'json_object' }
  if (format.kind !== 'schema') return losses.add('response_format')
  const { name = 'response', schema, strict, description } = format
  return omitUndefined({ type: 'json_schema', name, schema, strict, description })
}

function encodeReasoning(call: ModelCall, target: Target, losses: Losses): JsonObject | undefined {
  const options = call.reasoning
  if (!options) return undefined
  const isRequested = isReasoningRequested(options)
  if (!target.reasoning) return isRequested ? losses.add('reasoning') : undefined
  // Without an effort, a model of this format may not reason at all.
  const adaptiveEffort = options.adaptive ? 'medium' : undefined
  const effort =
    resolveEffort(options, call.maxTokens ?? target.maxOutputTokens ?? defaultMaxOutput) ?? adaptiveEffort
  const isShown = isRequested !== false && !options.exclude
  const reasoning = omitUndefined({
    effort: effort && findNearestEffort(effort, target.reasoning.efforts),
    summary: isShown ? (options.summary ?? 'auto') : undefined,
  })
  return Object.keys(reasoning).length > 0 ? reasoning : undefined
}

/** Nothing is stored upstream, so the reply must include the encrypted reasoning. */
function encodeInclude(call: ModelCall, target: Target): string[] | undefined {
  const include: string[] = []
  if (target.reasoning) include.push(encryptedInclude)
  if (call.logprobs) include.push(logprobsInclude)
  return include.length > 0 ? include : undefined
}

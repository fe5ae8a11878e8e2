import {
  asBoolean,
  asNumber,
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { Message, ModelCall, ReasoningOptions, ResponseFormat } from '../call/call.ts'
import { isEffort } from '../call/reasoning.ts'
import { hasUnknownCacheTtl, listUnknownMembers } from '../fields.ts'
import { normalizeTier } from '../tier.ts'
import { decodeInput, listUnknownItemFields } from './items-decode.ts'
import { decodeCacheControl } from './parts-decode.ts'
import { decodeToolChoice, decodeTools, listUnknownToolFields } from './tools.ts'

/** Fields read below, and fields of the gateway and of stored conversations, which other stages read. */
const knownFields = new Set(
  `model models provider plugins route session_id stream stream_options usage preset fallbacks transforms debug
  trace cache_control cache_enabled cache_ttl_seconds cache_mode cache_scope cache_threshold
  stop_server_tools_when modalities image_config prompt_cache_key store input instructions max_output_tokens temperature
  top_p top_k min_p top_a seed stop repetition_penalty frequency_penalty presence_penalty top_logprobs text
  tools tool_choice parallel_tool_calls reasoning service_tier include truncation metadata user
  safety_identifier previous_response_id conversation background`.split(/\s+/),
)

export const logprobsInclude = 'message.output_text.logprobs'

export function decodeRequest(body: JsonObject): ModelCall {
  const call: ModelCall = {
    messages: decodeMessages(body),
    stream: body.stream === true,
    unknown: [...new Set(listUnknownFields(body))],
  }
  return Object.assign(
    call,
    omitUndefined({ ...decodeSampling(body), ...decodeToolFields(body), ...decodeRequestOptions(body) }),
  )
}

function listUnknownFields(body: JsonObject): string[] {
  const names = Object.keys(body).filter((name) => !knownFields.has(name) && body[name] !== null)
  names.push(
    ...listUnknownMembers(body.reasoning, knownReasoningFields, 'reasoning'),
    ...listUnknownMembers(body.text, knownTextFields, 'text'),
    ...listUnknownMembers(body.stream_options, knownStreamOptions, 'stream_options'),
    ...asObjects(body.tools).flatMap(listUnknownToolFields),
    ...asObjects(body.input).flatMap(listUnknownItemFields),
  )
  const { effort } = asObject(body.reasoning) ?? {}
  if (typeof effort === 'string' && !isEffort(effort)) names.push('reasoning.effort')
  const format = asObject(asObject(body.text)?.format)
  if (format && !decodeFormat(format)) names.push('response_format')
  if (body.truncation && body.truncation !== 'disabled') names.push('truncation')
  if (hasUnknownCacheTtl(body.cache_control)) names.push('cache_control.ttl')
  if (Array.isArray(body.include) && !body.include.every((name) => knownIncludes.has(name)))
    names.push('include')
  return names
}

const knownReasoningFields = new Set([
  ...['effort', 'max_tokens', 'enabled', 'exclude', 'summary', 'generate_summary'],
])
const knownTextFields = new Set(['format', 'verbosity'])
/** Usage is always sent, and obfuscation only concerns the upstream's own stream. */
const knownStreamOptions = new Set(['include_usage', 'include_obfuscation'])
/** Additional output that is requested from every upstream that supports it. */
const knownIncludes = new Set<unknown>(['reasoning.encrypted_content', logprobsInclude])

function decodeMessages(body: JsonObject): Message[] {
  const instructions = asString(body.instructions)
  const messages = decodeInput(body.input)
  if (!instructions) return messages
  return [{ role: 'system', parts: [{ kind: 'text', text: instructions }] }, ...messages]
}

function decodeSampling(body: JsonObject) {
  const text = asObject(body.text)
  const topLogprobs = asNumber(body.top_logprobs)
  const areLogprobsIncluded = Array.isArray(body.include) && body.include.includes(logprobsInclude)
  return {
    maxTokens: asNumber(body.max_output_tokens),
    temperature: asNumber(body.temperature),
    topP: asNumber(body.top_p),
    topK: asNumber(body.top_k),
    minP: asNumber(body.min_p),
    topA: asNumber(body.top_a),
    seed: asNumber(body.seed),
    stop: decodeStop(body.stop),
    frequencyPenalty: asNumber(body.frequency_penalty),
    presencePenalty: asNumber(body.presence_penalty),
    repetitionPenalty: asNumber(body.repetition_penalty),
    logprobs: areLogprobsIncluded || (topLogprobs !== undefined && topLogprobs > 0) ? true : undefined,
    topLogprobs: topLogprobs || undefined,
    format: decodeFormat(asObject(text?.format)),
    verbosity: asString(text?.verbosity),
    reasoning: decodeReasoning(asObject(body.reasoning)),
  }
}

function decodeStop(value: unknown): string[] | undefined {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : undefined
}

function decodeToolFields(body: JsonObject) {
  const tools = decodeTools(body.tools)
  return {
    tools: tools.length > 0 ? tools : undefined,
    toolChoice: decodeToolChoice(body.tool_choice),
    parallelToolCalls: asBoolean(body.parallel_tool_calls),
  }
}

function decodeRequestOptions(body: JsonObject) {
  const control = asObject(body.cache_control)
  const tier = asString(body.service_tier)
  return {
    modalities: Array.isArray(body.modalities)
      ? body.modalities.filter((entry) => typeof entry === 'string')
      : undefined,
    imageConfig: asObject(body.image_config),
    cache: control && decodeCacheControl(control),
    promptCacheKey: asString(body.prompt_cache_key),
    serviceTier: tier === undefined ? undefined : normalizeTier(tier),
    user: asString(body.user) ?? asString(body.safety_identifier),
    metadata: decodeMetadata(asObject(body.metadata)),
  }
}

function decodeMetadata(value: JsonObject | undefined): Record<string, string> | undefined {
  const pairs = Object.entries(value ?? {}).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string',
  )
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined
}

function decodeFormat(format: JsonObject | undefined): ResponseFormat | undefined {
  if (format?.type === 'json_object') return { kind: 'json' }
  if (format?.type === 'text') return { kind: 'text' }
  if (format?.type !== 'json_schema') return undefined
  // Some clients nest the schema as the chat format does.
  const inner = asObject(format.json_schema) ?? format
  return omitUndefined({
    kind: 'schema' as const,
    name: asString(inner.name),
    schema: asObject(inner.schema) ?? {},
    strict: asBoolean(inner.strict),
    description: asString(inner.description),
  })
}

export function decodeReasoning(fields: JsonObject | undefined): ReasoningOptions | undefined {
  if (!fields) return undefined
  const options: ReasoningOptions = omitUndefined({
    effort: isEffort(fields.effort) ? fields.effort : undefined,
    maxTokens: asNumber(fields.max_tokens),
    enabled: asBoolean(fields.enabled),
    exclude: asBoolean(fields.exclude),
    summary: asString(fields.summary) ?? asString(fields.generate_summary),
  })
  return Object.keys(options).length > 0 ? options : undefined
}

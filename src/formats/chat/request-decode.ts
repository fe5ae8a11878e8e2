import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import {
  asBoolean,
  asNumber,
  asObject,
  asObjects,
  asString,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import type { ModelCall, ReasoningOptions, ResponseFormat } from '../call/call.ts'
import { isEffort } from '../call/reasoning.ts'
import { hasUnknownCacheTtl, listUnknownMembers } from '../fields.ts'
import { withoutTagList } from '../metadata.ts'
import { normalizeTier } from '../tier.ts'
import { convertFunctionsToTools } from './legacy-functions.ts'
import { decodeMessages } from './messages-decode.ts'
import { decodeCacheControl } from './parts-decode.ts'
import { decodeToolChoice, decodeTools, listUnknownToolFields } from './tools.ts'

/** Fields for the gateway, which other stages read and no upstream receives. */
export const gatewayFields: ReadonlySet<string> = new Set([
  'models',
  'provider',
  'plugins',
  'route',
  'session_id',
  'trace',
  'usage',
  'preset',
  'fallbacks',
  'transforms',
  'debug',
  'cache_enabled',
  'cache_ttl_seconds',
  'cache_mode',
  'cache_scope',
  'cache_threshold',
  'stop_server_tools_when',
  'previous_response_id',
  'max_tool_calls',
])

/** Fields that `decodeRequest` reads, and those with a meaning only for upstreams of this format. */
export const knownFields: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'prompt', 'stream', 'stream_options', 'store', 'safety_identifier'],
  ...['tools', 'functions', 'tool_choice', 'function_call', 'parallel_tool_calls'],
  ...['max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'min_p', 'top_a'],
  ...['frequency_penalty', 'presence_penalty', 'repetition_penalty', 'seed', 'stop', 'logit_bias'],
  ...['logprobs', 'top_logprobs', 'n', 'response_format', 'reasoning', 'reasoning_effort'],
  ...['include_reasoning', 'verbosity', 'modalities', 'audio', 'image_config', 'prediction'],
  ...['cache_control', 'prompt_cache_key', 'service_tier', 'user', 'metadata'],
])

export function decodeRequest(original: JsonObject): ModelCall {
  const body = convertFunctionsToTools(original)
  const { messages, effort, unknown } = decodeMessages(body)
  const call: ModelCall = {
    messages,
    stream: body.stream === true,
    unknown: [...new Set([...listUnknownFields(body), ...unknown])],
  }
  decodeSampling(body, call)
  decodeRequestOptions(body, call)
  const tools = decodeTools(body)
  if (tools) call.tools = tools
  const choice = decodeToolChoice(body)
  if (choice) call.toolChoice = choice
  const format = decodeFormat(body.response_format)
  if (format) call.format = format
  const reasoning = decodeReasoning(body)
  // The last configuration update in the conversation wins.
  const options = isEffort(effort) ? { ...reasoning, effort } : reasoning
  if (options) call.reasoning = options
  return call
}

function listUnknownFields(body: JsonObject): string[] {
  const names = Object.keys(body).filter(
    (name) =>
      !knownFields.has(name) && !gatewayFields.has(name) && body[name] !== null && body[name] !== undefined,
  )
  if (body.reasoning) names.push(...listUnknownMembers(body.reasoning, knownReasoningFields, 'reasoning'))
  if (body.stream_options)
    names.push(...listUnknownMembers(body.stream_options, knownStreamOptions, 'stream_options'))
  if (body.tools) names.push(...asObjects(body.tools).flatMap((tool) => listUnknownToolFields(tool)))
  if (vendorEffortOf(body) !== undefined) names.push('reasoning_effort')
  if (asObject(body.response_format) && !decodeFormat(body.response_format)) names.push('response_format')
  if (hasUnknownCacheTtl(body.cache_control)) names.push('cache_control.ttl')
  if (body.store === true) names.push('store')
  return names
}

const knownReasoningFields = new Set(['effort', 'max_tokens', 'enabled', 'exclude', 'summary'])
/** Usage is always sent, and obfuscation only concerns the upstream's own stream. */
const knownStreamOptions = new Set(['include_usage', 'include_obfuscation'])

/** A vendor-specific effort, which no other format has. */
export function vendorEffortOf(body: JsonObject): string | undefined {
  const effort = asString(asObject(body.reasoning)?.effort ?? body.reasoning_effort)
  return isEffort(effort) ? undefined : effort
}

const numberFields = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['min_p', 'minP'],
  ['top_a', 'topA'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
  ['repetition_penalty', 'repetitionPenalty'],
  ['seed', 'seed'],
  ['top_logprobs', 'topLogprobs'],
  ['n', 'n'],
] as const

/** Decodes the sampling fields, which the legacy completions format has too. */
export function decodeSampling(body: JsonObject, call: ModelCall): void {
  for (const [wire, field] of numberFields) {
    const value = body[wire]
    if (value === undefined || value === null) continue
    const number = asNumber(value)
    if (number === undefined) throw invalidFieldError(wire, 'must be a number')
    call[field] = number
  }
  const maxTokens = asNumber(body.max_completion_tokens) ?? asNumber(body.max_tokens)
  if (maxTokens !== undefined) call.maxTokens = maxTokens
  const stop = decodeStop(body.stop)
  if (stop) call.stop = stop
  const bias = asObject(body.logit_bias)
  if (bias) call.logitBias = bias as Record<string, number>
}

function decodeStop(stop: unknown): string[] | undefined {
  if (typeof stop === 'string') return [stop]
  if (!Array.isArray(stop)) return undefined
  const sequences = stop.filter((sequence) => typeof sequence === 'string')
  if (sequences.length < stop.length)
    throw invalidFieldError('stop', 'must be a string or an array of strings')
  return sequences.length > 0 ? sequences : undefined
}

const textFields = [
  ['verbosity', 'verbosity'],
  ['prompt_cache_key', 'promptCacheKey'],
  ['user', 'user'],
] as const

function decodeRequestOptions(body: JsonObject, call: ModelCall): void {
  for (const [wire, field] of textFields) {
    const value = asString(body[wire])
    if (value !== undefined) call[field] = value
  }
  const tier = asString(body.service_tier)
  if (tier !== undefined) call.serviceTier = normalizeTier(tier)
  const parallel = asBoolean(body.parallel_tool_calls)
  if (parallel !== undefined) call.parallelToolCalls = parallel
  decodeLogprobs(body.logprobs, call)
  if (Array.isArray(body.modalities))
    call.modalities = body.modalities.filter((modality) => typeof modality === 'string')
  const [audio, image, metadata] = [
    asObject(body.audio),
    asObject(body.image_config),
    withoutTagList(body.metadata),
  ]
  if (audio) call.audio = decodeAudioOptions(audio)
  if (image) call.imageConfig = image
  if (metadata) call.metadata = metadata as Record<string, string>
  const user = call.user ?? asString(body.safety_identifier)
  if (user !== undefined) call.user = user
  const prediction = decodePrediction(body.prediction)
  if (prediction !== undefined) call.prediction = prediction
  const cache = decodeCacheControl(body)
  if (cache) call.cache = cache
}

/** Some vendors take the number of logprobs instead of the flag. */
function decodeLogprobs(value: unknown, call: ModelCall): void {
  const count = asNumber(value)
  const isRequested = count === undefined ? asBoolean(value) : count > 0
  if (isRequested === undefined) return
  call.logprobs = isRequested
  if (count) call.topLogprobs ??= count
}

function decodeAudioOptions(audio: JsonObject): { voice?: unknown; format?: string } {
  const format = asString(audio.format)
  return {
    ...(audio.voice !== undefined && { voice: audio.voice }),
    ...(format !== undefined && { format }),
  }
}

function decodePrediction(prediction: unknown): string | undefined {
  const content = asObject(prediction)?.content
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  return asObjects(content)
    .map((part) => asString(part.text) ?? '')
    .join('')
}

function decodeFormat(value: unknown): ResponseFormat | undefined {
  const format = asObject(value)
  switch (format?.type) {
    case 'text':
    case 'python':
      return { kind: format.type }
    case 'json_object':
      return asObject(format.schema) ? decodeSchema(format) : { kind: 'json' }
    case 'grammar':
      return { kind: 'grammar', grammar: asString(format.grammar) ?? '' }
    case 'json_schema':
      return decodeSchema(asObject(format.json_schema) ?? format)
    default:
      return undefined
  }
}

function decodeSchema(value: JsonObject): ResponseFormat {
  const [name, description, strict] = [
    asString(value.name),
    asString(value.description),
    asBoolean(value.strict),
  ]
  return {
    kind: 'schema',
    schema: asObject(value.schema) ?? {},
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  }
}

export function decodeReasoning(body: JsonObject): ReasoningOptions | undefined {
  const fields = asObject(body.reasoning)
  const options: ReasoningOptions = {}
  const effort = fields?.effort ?? body.reasoning_effort
  if (isEffort(effort)) options.effort = effort
  const [budget, enabled, summary] = [
    asNumber(fields?.max_tokens),
    asBoolean(fields?.enabled),
    asString(fields?.summary),
  ]
  if (budget !== undefined) options.maxTokens = budget
  if (enabled !== undefined) options.enabled = enabled
  if (summary !== undefined) options.summary = summary
  const exclude = asBoolean(fields?.exclude) ?? (body.include_reasoning === false ? true : undefined)
  if (exclude !== undefined) options.exclude = exclude
  return Object.keys(options).length > 0 ? options : undefined
}

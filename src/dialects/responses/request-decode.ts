import type { Call, Format, Message, ReasoningWish } from '../../call/call.ts'
import { isEffort } from '../../call/reasoning.ts'
import { defined, flagOf, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { hasUnknownLifetime, unknownIn } from '../fields.ts'
import { commonTier } from '../tier.ts'
import { cacheMark } from './content-decode.ts'
import { decodeInput, unknownItemFields } from './items-decode.ts'
import { decodeToolChoice, decodeTools, unknownToolFields } from './tools.ts'

/** Read below, or about the gateway and the stored conversation, which others handle. */
const known = new Set(
  `model models provider plugins route session_id stream stream_options usage preset fallbacks transforms debug
  trace cache_control cache_enabled cache_ttl_seconds stop_server_tools_when modalities image_config
  prompt_cache_key store input instructions max_output_tokens temperature
  top_p top_k min_p top_a seed stop repetition_penalty frequency_penalty presence_penalty top_logprobs text
  tools tool_choice parallel_tool_calls reasoning service_tier include truncation metadata user
  safety_identifier previous_response_id conversation background`.split(/\s+/),
)

export const logprobsInclude = 'message.output_text.logprobs'

export function decodeRequest(body: JsonObject): Call {
  const call: Call = {
    messages: decodeMessages(body),
    stream: body.stream === true,
    unknown: [...new Set(unknownFields(body))],
  }
  return Object.assign(call, defined({ ...sampling(body), ...toolFields(body), ...surroundings(body) }))
}

function unknownFields(body: JsonObject): string[] {
  const names = Object.keys(body).filter((name) => !known.has(name) && body[name] !== null)
  names.push(
    ...unknownIn(body.reasoning, reasoningFields, 'reasoning'),
    ...unknownIn(body.text, textFields, 'text'),
    ...unknownIn(body.stream_options, streamOptions, 'stream_options'),
    ...objectsOf(body.tools).flatMap(unknownToolFields),
    ...objectsOf(body.input).flatMap(unknownItemFields),
  )
  const { effort } = objectOf(body.reasoning) ?? {}
  if (typeof effort === 'string' && !isEffort(effort)) names.push('reasoning.effort')
  const format = objectOf(objectOf(body.text)?.format)
  if (format && !decodeFormat(format)) names.push('response_format')
  if (body.truncation && body.truncation !== 'disabled') names.push('truncation')
  if (hasUnknownLifetime(body.cache_control)) names.push('cache_control.ttl')
  if (Array.isArray(body.include) && !body.include.every((word) => ownIncludes.has(word)))
    names.push('include')
  return names
}

const reasoningFields = new Set([
  ...['effort', 'max_tokens', 'enabled', 'exclude', 'summary', 'generate_summary'],
])
const textFields = new Set(['format', 'verbosity'])
/** The usage always comes, and what hides the length of events is the upstream's own affair. */
const streamOptions = new Set(['include_usage', 'include_obfuscation'])
/** What is wished for here reaches every upstream that has it. */
const ownIncludes = new Set<unknown>(['reasoning.encrypted_content', logprobsInclude])

function decodeMessages(body: JsonObject): Message[] {
  const instructions = textOf(body.instructions)
  const messages = decodeInput(body.input)
  if (!instructions) return messages
  return [{ role: 'system', parts: [{ kind: 'text', text: instructions }] }, ...messages]
}

function sampling(body: JsonObject) {
  const text = objectOf(body.text)
  const topLogprobs = numberOf(body.top_logprobs)
  const asked = Array.isArray(body.include) && body.include.includes(logprobsInclude)
  return {
    maxTokens: numberOf(body.max_output_tokens),
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    topK: numberOf(body.top_k),
    minP: numberOf(body.min_p),
    topA: numberOf(body.top_a),
    seed: numberOf(body.seed),
    stop: stopOf(body.stop),
    frequencyPenalty: numberOf(body.frequency_penalty),
    presencePenalty: numberOf(body.presence_penalty),
    repetitionPenalty: numberOf(body.repetition_penalty),
    logprobs: asked || (topLogprobs !== undefined && topLogprobs > 0) ? true : undefined,
    topLogprobs: topLogprobs || undefined,
    format: decodeFormat(objectOf(text?.format)),
    verbosity: textOf(text?.verbosity),
    reasoning: decodeWish(objectOf(body.reasoning)),
  }
}

function stopOf(value: unknown): string[] | undefined {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : undefined
}

function toolFields(body: JsonObject) {
  const tools = decodeTools(body.tools)
  return {
    tools: tools.length > 0 ? tools : undefined,
    toolChoice: decodeToolChoice(body.tool_choice),
    parallelToolCalls: flagOf(body.parallel_tool_calls),
  }
}

function surroundings(body: JsonObject) {
  const control = objectOf(body.cache_control)
  const tier = textOf(body.service_tier)
  return {
    modalities: Array.isArray(body.modalities)
      ? body.modalities.filter((entry) => typeof entry === 'string')
      : undefined,
    imageConfig: objectOf(body.image_config),
    cache: control && cacheMark(control),
    promptCacheKey: textOf(body.prompt_cache_key),
    serviceTier: tier === undefined ? undefined : commonTier(tier),
    user: textOf(body.user) ?? textOf(body.safety_identifier),
    metadata: decodeMetadata(objectOf(body.metadata)),
  }
}

function decodeMetadata(value: JsonObject | undefined): Record<string, string> | undefined {
  const pairs = Object.entries(value ?? {}).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string',
  )
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined
}

function decodeFormat(format: JsonObject | undefined): Format | undefined {
  if (format?.type === 'json_object') return { kind: 'json' }
  if (format?.type === 'text') return { kind: 'text' }
  if (format?.type !== 'json_schema') return undefined
  // A client that mixes the formats nests it, as chat does.
  const inner = objectOf(format.json_schema) ?? format
  return defined({
    kind: 'schema' as const,
    name: textOf(inner.name),
    schema: objectOf(inner.schema) ?? {},
    strict: flagOf(inner.strict),
    description: textOf(inner.description),
  })
}

export function decodeWish(reasoning: JsonObject | undefined): ReasoningWish | undefined {
  if (!reasoning) return undefined
  const wish: ReasoningWish = defined({
    effort: isEffort(reasoning.effort) ? reasoning.effort : undefined,
    maxTokens: numberOf(reasoning.max_tokens),
    enabled: flagOf(reasoning.enabled),
    exclude: flagOf(reasoning.exclude),
    summary: textOf(reasoning.summary) ?? textOf(reasoning.generate_summary),
  })
  return Object.keys(wish).length > 0 ? wish : undefined
}

import type { Call, Format, ReasoningWish } from '../../call/call.ts'
import { isEffort } from '../../call/reasoning.ts'
import { badField } from '../../errors.ts'
import { flagOf, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { hasUnknownLifetime, unknownIn } from '../fields.ts'
import { commonTier } from '../tier.ts'
import { withTools } from './functions.ts'
import { decodeMessages } from './messages-decode.ts'
import { cacheOf } from './parts-decode.ts'
import { decodeToolChoice, decodeTools, unknownToolFields } from './tools.ts'

/** Fields that steer the gateway: read elsewhere, and nothing an upstream would know. */
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
  'stop_server_tools_when',
  'previous_response_id',
  'max_tool_calls',
])

/** Everything `decodeRequest` reads, and what has no meaning beyond an upstream of this format. */
export const readFields: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'prompt', 'stream', 'stream_options', 'store', 'safety_identifier'],
  ...['tools', 'functions', 'tool_choice', 'function_call', 'parallel_tool_calls'],
  ...['max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'min_p', 'top_a'],
  ...['frequency_penalty', 'presence_penalty', 'repetition_penalty', 'seed', 'stop', 'logit_bias'],
  ...['logprobs', 'top_logprobs', 'n', 'response_format', 'reasoning', 'reasoning_effort'],
  ...['include_reasoning', 'verbosity', 'modalities', 'audio', 'image_config', 'prediction'],
  ...['cache_control', 'prompt_cache_key', 'service_tier', 'user', 'metadata'],
])

export function decodeRequest(given: JsonObject): Call {
  const body = withTools(given)
  const { messages, effort, unknown } = decodeMessages(body)
  const call: Call = {
    messages,
    stream: body.stream === true,
    unknown: [...new Set([...unknownFields(body), ...unknown])],
  }
  decodeSampling(body, call)
  decodeEnvelope(body, call)
  const tools = decodeTools(body)
  if (tools) call.tools = tools
  const choice = decodeToolChoice(body)
  if (choice) call.toolChoice = choice
  const format = decodeFormat(body.response_format)
  if (format) call.format = format
  const reasoning = decodeReasoning(body)
  // The last update within the conversation is what holds now.
  const wish = isEffort(effort) ? { ...reasoning, effort } : reasoning
  if (wish) call.reasoning = wish
  return call
}

function unknownFields(body: JsonObject): string[] {
  const names = Object.keys(body).filter(
    (name) =>
      !readFields.has(name) && !gatewayFields.has(name) && body[name] !== null && body[name] !== undefined,
  )
  names.push(
    ...unknownIn(body.reasoning, reasoningFields, 'reasoning'),
    ...unknownIn(body.stream_options, streamOptions, 'stream_options'),
    ...objectsOf(body.tools).flatMap((tool) => unknownToolFields(tool)),
  )
  if (unknownEffort(body) !== undefined) names.push('reasoning_effort')
  if (objectOf(body.response_format) && !decodeFormat(body.response_format)) names.push('response_format')
  if (hasUnknownLifetime(body.cache_control)) names.push('cache_control.ttl')
  if (body.store === true) names.push('store')
  return names
}

const reasoningFields = new Set(['effort', 'max_tokens', 'enabled', 'exclude', 'summary'])
/** The usage always comes, and what hides the length of chunks is the upstream's own affair. */
const streamOptions = new Set(['include_usage', 'include_obfuscation'])

/** A vendor's own word for an effort, which no other format has. */
export function unknownEffort(body: JsonObject): string | undefined {
  const effort = textOf(objectOf(body.reasoning)?.effort ?? body.reasoning_effort)
  return isEffort(effort) ? undefined : effort
}

const numbers = [
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

/** Also used by the older text format, whose sampling fields are the same. */
export function decodeSampling(body: JsonObject, call: Call): void {
  for (const [wire, field] of numbers) {
    const value = body[wire]
    if (value === undefined || value === null) continue
    const number = numberOf(value)
    if (number === undefined) throw badField(wire, 'must be a number')
    call[field] = number
  }
  const most = numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens)
  if (most !== undefined) call.maxTokens = most
  const stop = decodeStop(body.stop)
  if (stop) call.stop = stop
  const bias = objectOf(body.logit_bias)
  if (bias) call.logitBias = bias as Record<string, number>
}

function decodeStop(stop: unknown): string[] | undefined {
  if (typeof stop === 'string') return [stop]
  if (!Array.isArray(stop)) return undefined
  const words = stop.filter((word) => typeof word === 'string')
  if (words.length < stop.length) throw badField('stop', 'must be a string or an array of strings')
  return words.length > 0 ? words : undefined
}

const texts = [
  ['verbosity', 'verbosity'],
  ['prompt_cache_key', 'promptCacheKey'],
  ['user', 'user'],
] as const

function decodeEnvelope(body: JsonObject, call: Call): void {
  for (const [wire, field] of texts) {
    const value = textOf(body[wire])
    if (value !== undefined) call[field] = value
  }
  const tier = textOf(body.service_tier)
  if (tier !== undefined) call.serviceTier = commonTier(tier)
  const parallel = flagOf(body.parallel_tool_calls)
  if (parallel !== undefined) call.parallelToolCalls = parallel
  decodeLogprobs(body.logprobs, call)
  if (Array.isArray(body.modalities))
    call.modalities = body.modalities.filter((word) => typeof word === 'string')
  const [audio, image, metadata] = [
    objectOf(body.audio),
    objectOf(body.image_config),
    objectOf(body.metadata),
  ]
  if (audio) call.audio = decodeVoice(audio)
  if (image) call.imageConfig = image
  if (metadata) call.metadata = metadata as Record<string, string>
  const user = call.user ?? textOf(body.safety_identifier)
  if (user !== undefined) call.user = user
  const prediction = decodePrediction(body.prediction)
  if (prediction !== undefined) call.prediction = prediction
  const cache = cacheOf(body)
  if (cache) call.cache = cache
}

/** Some vendors write how many in the place of the flag. */
function decodeLogprobs(value: unknown, call: Call): void {
  const count = numberOf(value)
  const wanted = count === undefined ? flagOf(value) : count > 0
  if (wanted === undefined) return
  call.logprobs = wanted
  if (count) call.topLogprobs ??= count
}

function decodeVoice(audio: JsonObject): { voice?: unknown; format?: string } {
  const format = textOf(audio.format)
  return {
    ...(audio.voice !== undefined && { voice: audio.voice }),
    ...(format !== undefined && { format }),
  }
}

function decodePrediction(prediction: unknown): string | undefined {
  const content = objectOf(prediction)?.content
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  return objectsOf(content)
    .map((part) => textOf(part.text) ?? '')
    .join('')
}

function decodeFormat(given: unknown): Format | undefined {
  const format = objectOf(given)
  switch (format?.type) {
    case 'text':
    case 'python':
      return { kind: format.type }
    case 'json_object':
      return objectOf(format.schema) ? decodeSchema(format) : { kind: 'json' }
    case 'grammar':
      return { kind: 'grammar', grammar: textOf(format.grammar) ?? '' }
    case 'json_schema':
      return decodeSchema(objectOf(format.json_schema) ?? format)
    default:
      return undefined
  }
}

function decodeSchema(given: JsonObject): Format {
  const [name, description, strict] = [textOf(given.name), textOf(given.description), flagOf(given.strict)]
  return {
    kind: 'schema',
    schema: objectOf(given.schema) ?? {},
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  }
}

export function decodeReasoning(body: JsonObject): ReasoningWish | undefined {
  const given = objectOf(body.reasoning)
  const wish: ReasoningWish = {}
  const effort = given?.effort ?? body.reasoning_effort
  if (isEffort(effort)) wish.effort = effort
  const [budget, enabled, summary] = [
    numberOf(given?.max_tokens),
    flagOf(given?.enabled),
    textOf(given?.summary),
  ]
  if (budget !== undefined) wish.maxTokens = budget
  if (enabled !== undefined) wish.enabled = enabled
  if (summary !== undefined) wish.summary = summary
  const exclude = flagOf(given?.exclude) ?? (body.include_reasoning === false ? true : undefined)
  if (exclude !== undefined) wish.exclude = exclude
  return Object.keys(wish).length > 0 ? wish : undefined
}

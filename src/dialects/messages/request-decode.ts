import type { Call, Format, Message, ReasoningWish } from '../../call/call.ts'
import { isEffort } from '../../call/reasoning.ts'
import { badField } from '../../errors.ts'
import { flagOf, type JsonObject, numberOf, objectOf, textOf } from '../../lib/loose.ts'
import { hasUnknownLifetime, unknownIn } from '../fields.ts'
import { commonTier } from '../tier.ts'
import { cacheMark, decodeContent } from './blocks-decode.ts'
import { knownFields } from './request-fields.ts'
import { decodeToolChoice, decodeTools } from './tools.ts'

export function decodeRequest(body: JsonObject): Call {
  const unknown = new Set<string>()
  for (const [name, value] of Object.entries(body)) {
    if (!knownFields.has(name) && value !== null && value !== undefined) unknown.add(name)
  }
  const call: Call = {
    messages: [...systemOf(body.system), ...messagesOf(body.messages, unknown)],
    stream: body.stream === true,
    unknown: [],
  }
  decodeNumbers(body, call)
  decodeToolFields(body, call, unknown)
  decodeOutput(body, call, unknown)
  decodeCaller(body, call, unknown)
  call.unknown = [...unknown]
  return call
}

function systemOf(system: unknown): Message[] {
  if (system === undefined || system === null) return []
  const parts = decodeContent(system, 'system')
  return parts.length > 0 ? [{ role: 'system', parts }] : []
}

function messagesOf(value: unknown, unknown: Set<string>): Message[] {
  if (!Array.isArray(value)) throw badField('messages', 'must be an array')
  return value.map((item, index) => {
    const message = objectOf(item)
    if (!message) throw badField(`messages.${index}`, 'must be an object')
    for (const name of ['clear_at', 'output_config']) {
      if (message[name] !== undefined && message[name] !== null) unknown.add(`messages.${name}`)
    }
    return {
      role: roleOf(message.role, index),
      parts: decodeContent(message.content, `messages.${index}.content`),
    }
  })
}

function roleOf(role: unknown, index: number): Message['role'] {
  if (role === 'user' || role === 'assistant' || role === 'system' || role === 'developer') return role
  throw badField(`messages.${index}.role`, 'must be user, assistant or system')
}

function decodeNumbers(body: JsonObject, call: Call): void {
  const [maxTokens, temperature] = [numberOf(body.max_tokens), numberOf(body.temperature)]
  const [topP, topK] = [numberOf(body.top_p), numberOf(body.top_k)]
  if (maxTokens !== undefined) call.maxTokens = maxTokens
  if (temperature !== undefined) call.temperature = temperature
  if (topP !== undefined) call.topP = topP
  if (topK !== undefined) call.topK = topK
}

function decodeToolFields(body: JsonObject, call: Call, unknown: Set<string>): void {
  const tools = decodeTools(body.tools, unknown)
  if (tools.length > 0) call.tools = tools
  const choice = decodeToolChoice(body.tool_choice)
  if (choice) call.toolChoice = choice
  const single = flagOf(objectOf(body.tool_choice)?.disable_parallel_tool_use)
  if (single !== undefined) call.parallelToolCalls = !single
}

function decodeOutput(body: JsonObject, call: Call, unknown: Set<string>): void {
  const config = objectOf(body.output_config)
  for (const name in config) {
    if (name !== 'effort' && name !== 'format' && config[name] !== null) unknown.add(`output_config.${name}`)
  }
  const format = formatOf(config?.format)
  if (format) call.format = format
  else if (config?.format) unknown.add('output_config.format')
  const reasoning = reasoningOf(objectOf(body.thinking), config?.effort, unknown)
  if (reasoning) call.reasoning = reasoning
  if (Array.isArray(body.stop_sequences)) {
    call.stop = body.stop_sequences.filter((word) => typeof word === 'string')
  }
}

function formatOf(value: unknown): Format | undefined {
  const format = objectOf(value)
  const schema = objectOf(format?.schema)
  return format?.type === 'json_schema' && schema ? { kind: 'schema', schema } : undefined
}

function reasoningOf(
  thinking: JsonObject | undefined,
  effort: unknown,
  unknown: Set<string>,
): ReasoningWish | undefined {
  const wish: ReasoningWish = {}
  if (thinking?.type === 'enabled') {
    wish.enabled = true
    const budget = numberOf(thinking.budget_tokens)
    if (budget !== undefined) wish.maxTokens = budget
  } else if (thinking?.type === 'adaptive') wish.adaptive = true
  else if (thinking?.type === 'disabled') wish.enabled = false
  else if (thinking) unknown.add('thinking')
  if (thinking?.display === 'omitted') wish.exclude = true
  else if (thinking?.display === 'summarized') wish.summary = 'auto'
  else if (thinking?.display) unknown.add('thinking.display')
  for (const name of unknownIn(thinking, thinkingFields, 'thinking')) unknown.add(name)
  if (isEffort(effort)) {
    // An effort would switch on what was switched off.
    if (wish.enabled === false) unknown.add('output_config.effort')
    else wish.effort = effort
  } else if (effort !== undefined && effort !== null) unknown.add('output_config.effort')
  return Object.keys(wish).length > 0 ? wish : undefined
}

const thinkingFields = new Set(['type', 'budget_tokens', 'display'])

function decodeCaller(body: JsonObject, call: Call, unknown: Set<string>): void {
  const metadata = objectOf(body.metadata)
  for (const name in metadata) if (name !== 'user_id') unknown.add(`metadata.${name}`)
  const user = textOf(body.user) ?? textOf(metadata?.user_id)
  if (user !== undefined) call.user = user
  const tier = textOf(body.service_tier) ?? (body.speed === 'fast' ? 'fast' : undefined)
  if (tier !== undefined) call.serviceTier = commonTier(tier)
  if (body.speed && body.speed !== 'fast' && body.speed !== 'standard') unknown.add('speed')
  if (hasUnknownLifetime(body.cache_control)) unknown.add('cache_control.ttl')
  const cache = cacheMark(body.cache_control)
  if (cache) call.cache = cache
}

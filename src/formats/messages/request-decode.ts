import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asBoolean, asNumber, asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Message, ModelCall, ReasoningOptions, ResponseFormat } from '../call/call.ts'
import { isEffort } from '../call/reasoning.ts'
import { hasUnknownCacheTtl, listUnknownMembers } from '../fields.ts'
import { normalizeTier } from '../tier.ts'
import { decodeCacheControl, decodeContent } from './blocks-decode.ts'
import { knownFields } from './request-fields.ts'
import { decodeToolChoice, decodeTools } from './tools.ts'

export function decodeRequest(body: JsonObject): ModelCall {
  const unknown = new Set<string>()
  for (const [name, value] of Object.entries(body)) {
    if (!knownFields.has(name) && value !== null && value !== undefined) unknown.add(name)
  }
  const call: ModelCall = {
    messages: [...decodeSystem(body.system), ...decodeMessages(body.messages, unknown)],
    stream: body.stream === true,
    unknown: [],
  }
  decodeSampling(body, call)
  decodeToolFields(body, call, unknown)
  decodeOutput(body, call, unknown)
  decodeRemainingFields(body, call, unknown)
  call.unknown = [...unknown]
  return call
}

function decodeSystem(system: unknown): Message[] {
  if (system === undefined || system === null) return []
  const parts = decodeContent(system, 'system')
  return parts.length > 0 ? [{ role: 'system', parts }] : []
}

function decodeMessages(value: unknown, unknown: Set<string>): Message[] {
  if (!Array.isArray(value)) throw invalidFieldError('messages', 'must be an array')
  return value.map((item, index) => {
    const message = asObject(item)
    if (!message) throw invalidFieldError(`messages.${index}`, 'must be an object')
    for (const name of ['clear_at', 'output_config']) {
      if (message[name] !== undefined && message[name] !== null) unknown.add(`messages.${name}`)
    }
    return {
      role: decodeRole(message.role, index),
      parts: decodeContent(message.content, `messages.${index}.content`),
    }
  })
}

function decodeRole(role: unknown, index: number): Message['role'] {
  if (role === 'user' || role === 'assistant' || role === 'system' || role === 'developer') return role
  throw invalidFieldError(`messages.${index}.role`, 'must be user, assistant or system')
}

function decodeSampling(body: JsonObject, call: ModelCall): void {
  const [maxTokens, temperature] = [asNumber(body.max_tokens), asNumber(body.temperature)]
  const [topP, topK] = [asNumber(body.top_p), asNumber(body.top_k)]
  if (maxTokens !== undefined) call.maxTokens = maxTokens
  if (temperature !== undefined) call.temperature = temperature
  if (topP !== undefined) call.topP = topP
  if (topK !== undefined) call.topK = topK
}

function decodeToolFields(body: JsonObject, call: ModelCall, unknown: Set<string>): void {
  const tools = decodeTools(body.tools, unknown)
  if (tools.length > 0) call.tools = tools
  const choice = decodeToolChoice(body.tool_choice)
  if (choice) call.toolChoice = choice
  const single = asBoolean(asObject(body.tool_choice)?.disable_parallel_tool_use)
  if (single !== undefined) call.parallelToolCalls = !single
}

function decodeOutput(body: JsonObject, call: ModelCall, unknown: Set<string>): void {
  const config = asObject(body.output_config)
  for (const name in config) {
    if (name !== 'effort' && name !== 'format' && config[name] !== null) unknown.add(`output_config.${name}`)
  }
  const format = decodeFormat(config?.format)
  if (format) call.format = format
  else if (config?.format) unknown.add('output_config.format')
  const reasoning = decodeReasoning(asObject(body.thinking), config?.effort, unknown)
  if (reasoning) call.reasoning = reasoning
  if (Array.isArray(body.stop_sequences)) {
    call.stop = body.stop_sequences.filter((sequence) => typeof sequence === 'string')
  }
}

function decodeFormat(value: unknown): ResponseFormat | undefined {
  const format = asObject(value)
  const schema = asObject(format?.schema)
  return format?.type === 'json_schema' && schema ? { kind: 'schema', schema } : undefined
}

function decodeReasoning(
  thinking: JsonObject | undefined,
  effort: unknown,
  unknown: Set<string>,
): ReasoningOptions | undefined {
  const options: ReasoningOptions = {}
  if (thinking?.type === 'enabled') {
    options.enabled = true
    const budget = asNumber(thinking.budget_tokens)
    if (budget !== undefined) options.maxTokens = budget
  } else if (thinking?.type === 'adaptive') options.adaptive = true
  else if (thinking?.type === 'disabled') options.enabled = false
  else if (thinking) unknown.add('thinking')
  if (thinking?.display === 'omitted') options.exclude = true
  else if (thinking?.display === 'summarized') options.summary = 'auto'
  else if (thinking?.display) unknown.add('thinking.display')
  for (const name of listUnknownMembers(thinking, thinkingFields, 'thinking')) unknown.add(name)
  if (isEffort(effort)) {
    // An effort would enable thinking that the client disabled.
    if (options.enabled === false) unknown.add('output_config.effort')
    else options.effort = effort
  } else if (effort !== undefined && effort !== null) unknown.add('output_config.effort')
  return Object.keys(options).length > 0 ? options : undefined
}

const thinkingFields = new Set(['type', 'budget_tokens', 'display'])

function decodeRemainingFields(body: JsonObject, call: ModelCall, unknown: Set<string>): void {
  const metadata = asObject(body.metadata)
  const user = asString(body.user) ?? asString(metadata?.user_id)
  if (user !== undefined) call.user = user
  const tier = asString(body.service_tier) ?? (body.speed === 'fast' ? 'fast' : undefined)
  if (tier !== undefined) call.serviceTier = normalizeTier(tier)
  if (body.speed && body.speed !== 'fast' && body.speed !== 'standard') unknown.add('speed')
  if (hasUnknownCacheTtl(body.cache_control)) unknown.add('cache_control.ttl')
  const cache = decodeCacheControl(body.cache_control)
  if (cache) call.cache = cache
}

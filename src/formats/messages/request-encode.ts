import { sha256 } from '../../platform/crypto/crypto.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import { dropUnsupportedFields, Losses } from '../fields.ts'
import { resolveTier } from '../tier.ts'
import type { Target, UpstreamRequest } from '../wire-format.ts'
import { encodeCacheControl, limitCacheBreakpoints } from './cache-control.ts'
import { encodeMessages, hasToolUseWithoutThinking } from './messages-encode.ts'
import { encodeReasoning } from './reasoning-encode.ts'
import { defaultMaxTokens } from './request-fields.ts'
import { encodeToolChoice, encodeTools } from './tools.ts'

export const path = '/messages'

export function encodeRequest(originalCall: ModelCall, target: Target): UpstreamRequest {
  const losses = new Losses()
  const call = dropUnsupportedFields(originalCall, target.unsupportedFields, losses)
  addFieldLosses(call, losses)
  const maxTokens = call.maxTokens ?? target.maxOutputTokens ?? defaultMaxTokens
  const body: JsonObject = {
    model: target.model,
    max_tokens: maxTokens,
    ...encodeMessages(call.messages, target, losses),
    ...(target.stream && { stream: true }),
  }
  const isThinking = encodeReasoningFields(call, target, body, losses)
  encodeToolFields(call, body, isThinking, losses)
  encodeSampling(call, body, isThinking, losses)
  encodeRemainingFields(call, body, target, losses)
  limitCacheBreakpoints(body, losses)
  return { path, headers: {}, body, dropped: losses.list() }
}

/** Fields of a call that the format cannot express. */
function addFieldLosses(call: ModelCall, losses: Losses): void {
  losses.addFields(
    call,
    'minP',
    'topA',
    'frequencyPenalty',
    'presencePenalty',
    'repetitionPenalty',
    'seed',
    'logitBias',
    'logprobs',
    'topLogprobs',
    'verbosity',
    'audio',
    'imageConfig',
    'prediction',
    'promptCacheKey',
    'metadata',
  )
  losses.addReplySettings(call)
}

function encodeReasoningFields(call: ModelCall, target: Target, body: JsonObject, losses: Losses): boolean {
  const { thinking, effort, isEnabled, isLost } = encodeReasoning(call, target, Number(body.max_tokens))
  // With a budget, a turn with tool calls must start with a thinking block; turns of other models have none.
  const isImpossible = thinking?.type === 'enabled' && hasToolUseWithoutThinking(body.messages)
  if (isLost || isImpossible) losses.add('reasoning')
  if (thinking && !isImpossible) body.thinking = thinking
  if (effort !== undefined) body.output_config = { effort }
  return isEnabled && !isImpossible
}

function encodeToolFields(call: ModelCall, body: JsonObject, isThinking: boolean, losses: Losses): void {
  const tools = encodeTools(call.tools ?? [], call.toolChoice, losses)
  if (tools.length === 0) {
    const isForced = call.toolChoice && call.toolChoice.kind !== 'auto' && call.toolChoice.kind !== 'none'
    if (isForced) losses.add('tool_choice')
    return
  }
  body.tools = tools
  const choice = encodeToolChoice(call.toolChoice, call.parallelToolCalls, !isThinking, losses)
  if (choice) body.tool_choice = choice
}

/** The vendor's maximum is 1; it accepts either a temperature or `top_p`, and with thinking neither. */
function encodeSampling(call: ModelCall, body: JsonObject, isThinking: boolean, losses: Losses): void {
  const temperature = call.temperature === undefined ? undefined : Math.min(Math.max(call.temperature, 0), 1)
  if (temperature !== call.temperature) losses.add('temperature')
  const { topP, topK } = call
  const [hasTemperature, hasTopP] = [
    temperature !== undefined && temperature !== 1,
    topP !== undefined && topP !== 1,
  ]
  if (isThinking) {
    if (hasTemperature) losses.add('temperature')
    if (topK !== undefined) losses.add('top_k')
    // With thinking, values from 0.95 to 1 are allowed.
    if (topP !== undefined && topP >= 0.95) body.top_p = topP
    else if (topP !== undefined) losses.add('top_p')
    return
  }
  if (temperature !== undefined && (hasTemperature || !hasTopP)) body.temperature = temperature
  if (topP !== undefined && body.temperature === undefined) body.top_p = topP
  else if (hasTopP) losses.add('top_p')
  if (topK !== undefined) body.top_k = topK
}

function encodeRemainingFields(call: ModelCall, body: JsonObject, target: Target, losses: Losses): void {
  if (call.format?.kind === 'schema') {
    const format = { type: 'json_schema', schema: call.format.schema }
    body.output_config = { ...(body.output_config as JsonObject | undefined), format }
    if (call.format.description !== undefined) losses.add('response_format.description')
  } else if (call.format && call.format.kind !== 'text') losses.add('response_format')
  const stop = call.stop?.filter((sequence) => sequence.trim() !== '') ?? []
  if (stop.length < (call.stop?.length ?? 0)) losses.add('stop')
  if (stop.length > 0) body.stop_sequences = stop
  if (call.user !== undefined) body.metadata = { user_id: hashUser(call.user) }
  if (call.cache) Object.assign(body, encodeCacheControl(call.cache))
  const tier = encodeTier(call.serviceTier, target, losses)
  if (tier !== undefined) body.service_tier = tier
}

/** Upstreams receive a stable hash, not the user id. */
export function hashUser(user: string): string {
  return sha256(user).slice(0, 32)
}

/** `auto` uses reserved capacity where the account has some; the vendor has no other value that requests it. */
const wireTiers = new Map([
  ['auto', 'auto'],
  ['priority', 'auto'],
  ['standard_only', 'standard_only'],
  ['standard', 'standard_only'],
  ['default', 'standard_only'],
])

export function encodeTier(
  requestedTier: string | undefined,
  target: Target,
  losses: Losses,
): string | undefined {
  const tier = resolveTier(requestedTier, target, losses)
  if (tier === undefined) return undefined
  return wireTiers.get(tier) ?? (requestedTier === undefined ? undefined : losses.add('service_tier'))
}

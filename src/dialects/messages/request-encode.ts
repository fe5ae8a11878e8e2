import type { Call } from '../../call/call.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { sha256 } from '../../lib/secret.ts'
import type { Target, UpstreamRequest } from '../dialect.ts'
import { Losses, withoutUnsupported } from '../fields.ts'
import { tierFor } from '../tier.ts'
import { cacheControl, limitMarks } from './cache.ts'
import { callsWithoutThinking, encodeConversation } from './conversation.ts'
import { fallbackMaxTokens } from './request-fields.ts'
import { encodeToolChoice, encodeTools } from './tools.ts'
import { encodeWish } from './wish.ts'

export const path = '/messages'

export function encodeRequest(asked: Call, target: Target): UpstreamRequest {
  const losses = new Losses()
  const call = withoutUnsupported(asked, target.unsupported, losses)
  addLosses(call, losses)
  const maxTokens = call.maxTokens ?? target.maxOutput ?? fallbackMaxTokens
  const body: JsonObject = {
    model: target.model,
    max_tokens: maxTokens,
    ...encodeConversation(call.messages, target, losses),
    ...(target.stream && { stream: true }),
  }
  const thinks = encodeThinking(call, target, body, losses)
  encodeToolFields(call, body, thinks, losses)
  encodeSampling(call, body, thinks, losses)
  encodeRest(call, body, target, losses)
  limitMarks(body, losses)
  return { path, headers: {}, body, dropped: losses.list() }
}

/** What the format has no word for at all. */
function addLosses(call: Call, losses: Losses): void {
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
  if (call.n !== undefined && call.n > 1) losses.add('n')
  if (call.modalities?.some((modality) => modality !== 'text')) losses.add('modalities')
  // `auto` asks to see the thinking, which is shown; a kind of summary cannot be chosen.
  const { summary } = call.reasoning ?? {}
  if (summary !== undefined && summary !== 'auto') losses.add('reasoning.summary')
}

function encodeThinking(call: Call, target: Target, body: JsonObject, losses: Losses): boolean {
  const { thinking, effort, on, lost } = encodeWish(call, target, Number(body.max_tokens))
  // With a budget, a turn that calls tools must begin with its thinking; one made elsewhere has none.
  const impossible = thinking?.type === 'enabled' && callsWithoutThinking(body.messages)
  if (lost || impossible) losses.add('reasoning')
  if (thinking && !impossible) body.thinking = thinking
  if (effort !== undefined) body.output_config = { effort }
  return on && !impossible
}

function encodeToolFields(call: Call, body: JsonObject, thinks: boolean, losses: Losses): void {
  const tools = encodeTools(call.tools ?? [], call.toolChoice, losses)
  if (tools.length === 0) {
    const forced = call.toolChoice && call.toolChoice.kind !== 'auto' && call.toolChoice.kind !== 'none'
    if (forced) losses.add('tool_choice')
    return
  }
  body.tools = tools
  const choice = encodeToolChoice(call.toolChoice, call.parallelToolCalls, !thinks, losses)
  if (choice) body.tool_choice = choice
}

/** The vendor's scale ends at 1, and it takes either a temperature or `top_p`; while thinking, neither. */
function encodeSampling(call: Call, body: JsonObject, thinks: boolean, losses: Losses): void {
  const temperature = call.temperature === undefined ? undefined : Math.min(Math.max(call.temperature, 0), 1)
  if (temperature !== call.temperature) losses.add('temperature')
  const { topP, topK } = call
  const [warm, narrow] = [temperature !== undefined && temperature !== 1, topP !== undefined && topP !== 1]
  if (thinks) {
    if (warm) losses.add('temperature')
    if (topK !== undefined) losses.add('top_k')
    // From here to 1 it is allowed.
    if (topP !== undefined && topP >= 0.95) body.top_p = topP
    else if (topP !== undefined) losses.add('top_p')
    return
  }
  if (temperature !== undefined && (warm || !narrow)) body.temperature = temperature
  if (topP !== undefined && body.temperature === undefined) body.top_p = topP
  else if (narrow) losses.add('top_p')
  if (topK !== undefined) body.top_k = topK
}

function encodeRest(call: Call, body: JsonObject, target: Target, losses: Losses): void {
  if (call.format?.kind === 'schema') {
    const format = { type: 'json_schema', schema: call.format.schema }
    body.output_config = { ...(body.output_config as JsonObject | undefined), format }
    if (call.format.description !== undefined) losses.add('response_format.description')
  } else if (call.format && call.format.kind !== 'text') losses.add('response_format')
  const stop = call.stop?.filter((word) => word.trim() !== '') ?? []
  if (stop.length < (call.stop?.length ?? 0)) losses.add('stop')
  if (stop.length > 0) body.stop_sequences = stop
  if (call.user !== undefined) body.metadata = { user_id: hashedUser(call.user) }
  if (call.cache) Object.assign(body, cacheControl(call.cache))
  const tier = tierWord(call.serviceTier, target, losses)
  if (tier !== undefined) body.service_tier = tier
}

/** Vendors want to tell users apart, not to know who they are. */
export function hashedUser(user: string): string {
  return sha256(user).slice(0, 32)
}

/** Capacity that was bought ahead is used by whoever leaves the choice to the vendor; there is no other way to ask for it. */
const tiers = new Map([
  ['auto', 'auto'],
  ['priority', 'auto'],
  ['standard_only', 'standard_only'],
  ['standard', 'standard_only'],
  ['default', 'standard_only'],
])

export function tierWord(asked: string | undefined, target: Target, losses: Losses): string | undefined {
  const tier = tierFor(asked, target, losses)
  if (tier === undefined) return undefined
  return tiers.get(tier) ?? (asked === undefined ? undefined : losses.add('service_tier'))
}

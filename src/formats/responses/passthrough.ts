import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import { findNearestEffort, resolveEffort, unpackReasoning } from '../call/reasoning.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import { Losses } from '../fields.ts'
import { maskMcpSecrets } from '../mcp-secrets.ts'
import { withoutTagList } from '../metadata.ts'
import { decodeReasoningFormat } from '../reasoning-format.ts'
import { resolveReasoning } from '../reasoning-options.ts'
import { normalizeServedTier, resolveTier } from '../tier.ts'
import {
  encodeServiceMetadata,
  type ReplyContext,
  type Target,
  type UpstreamRequest,
} from '../wire-format.ts'
import { hideReasoning } from './hide-reasoning.ts'
import { decodeReasoning, logprobsInclude } from './request-decode.ts'
import { defaultMaxOutput, encryptedInclude, requestPath } from './request-encode.ts'
import {
  encodeResponse,
  encodeStorageFields,
  joinOutputText,
  type ResponseState,
  responseIdOf,
} from './response-object.ts'
import { mergeUsage } from './usage.ts'

/** Gateway fields, including those of conversations the gateway stores; never sent upstream. */
const gatewayFields = `models provider plugins route session_id usage preset fallbacks transforms debug trace
  cache_enabled cache_ttl_seconds cache_mode cache_scope cache_threshold
  stop_server_tools_when previous_response_id conversation background`.split(/\s+/)

/** Fields this API adds to the format. Upstreams reject unknown fields, so these are losses. */
const extensionFields =
  `cache_control modalities image_config top_k min_p top_a seed stop frequency_penalty presence_penalty
  repetition_penalty`.split(/\s+/)

/** Fields whose name in this format differs from `fieldNames`. */
const wireNames: Record<string, string> = { max_tokens: 'max_output_tokens', logprobs: 'top_logprobs' }

export function passRequest(body: JsonObject, target: Target): UpstreamRequest {
  const losses = new Losses()
  const passed: JsonObject = { ...body, model: target.model, store: false }
  for (const name of gatewayFields) delete passed[name]
  for (const name of extensionFields) dropField(passed, name, name, losses)
  for (const name of target.unsupportedFields) dropField(passed, wireNames[name] ?? name, name, losses)
  if (passed.metadata !== undefined) passed.metadata = withoutTagList(passed.metadata)
  passText(passed, target, losses)
  passReasoning(passed, target, losses)
  passInclude(passed, target)
  if (passed.input !== undefined) passed.input = passInput(passed.input, target, losses)
  passed.service_tier = resolveTier(asString(passed.service_tier), target, losses)
  passStream(passed, target)
  return { path: requestPath, headers: {}, body: omitUndefined(passed), dropped: losses.list() }
}

function dropField(body: JsonObject, field: string, name: string, losses: Losses): void {
  if (!(field in body)) return
  if (body[field] !== null) losses.add(name)
  delete body[field]
}

function passStream(body: JsonObject, target: Target): void {
  if (target.stream) body.stream = true
  else delete body.stream
  // Usage is always sent; the chat option for it is rejected here.
  const { include_usage, ...options } = asObject(body.stream_options) ?? {}
  delete body.stream_options
  if (target.stream && Object.keys(options).length > 0) body.stream_options = options
}

function passText(body: JsonObject, { unsupportedFields }: Target, losses: Losses): void {
  if (!unsupportedFields.has('response_format') && !unsupportedFields.has('verbosity')) return
  const text = { ...asObject(body.text) }
  if (unsupportedFields.has('response_format')) dropField(text, 'format', 'response_format', losses)
  if (unsupportedFields.has('verbosity')) dropField(text, 'verbosity', 'verbosity', losses)
  if (Object.keys(text).length > 0) body.text = text
  else delete body.text
}

/** Converts this API's reasoning options to `effort`, the only one upstreams have. */
function passReasoning(body: JsonObject, target: Target, losses: Losses): void {
  const original = asObject(body.reasoning)
  const options = resolveReasoning(decodeReasoning(original), target)
  if (!original && !options) return
  const { enabled, max_tokens, exclude, ...reasoning } = original ?? {}
  const limit = typeof body.max_output_tokens === 'number' ? body.max_output_tokens : target.maxOutputTokens
  const effort = options && resolveEffort(options, limit ?? defaultMaxOutput)
  if (effort !== undefined && reasoning.effort !== effort && !target.reasoning) {
    losses.add('reasoning')
  } else if (effort !== undefined) {
    reasoning.effort = findNearestEffort(effort, target.reasoning?.efforts ?? null)
  }
  if (exclude === true) delete reasoning.summary
  if (Object.keys(reasoning).length > 0) body.reasoning = reasoning
  else delete body.reasoning
}

/** Nothing is stored upstream, so the reply must include the encrypted reasoning. */
function passInclude(body: JsonObject, target: Target): void {
  const include = Array.isArray(body.include) ? body.include : []
  const included = include.filter(
    (name) => name !== logprobsInclude || !target.unsupportedFields.has('logprobs'),
  )
  if (target.reasoning && !included.includes(encryptedInclude)) included.push(encryptedInclude)
  if (included.length > 0 || include.length > 0) body.include = included
}

/** Drops the reasoning of other vendors and unpacks packed reasoning. */
function passInput(input: unknown, target: Target, losses: Losses): unknown {
  if (!Array.isArray(input)) return input
  return input.flatMap((value): unknown[] => {
    const item = asObject(value)
    if (item?.type === 'function_call') return [fillEmptyArguments(item)]
    if (item?.type !== 'reasoning') return [value]
    const packed = unpackReasoning(asString(item.encrypted_content) ?? '')
    const { format = packed?.format, signature, ...rest } = item
    if (format !== undefined && decodeReasoningFormat(format) !== target.signatureFormat) {
      losses.add(packed && !packed.signature && !packed.encrypted ? 'reasoning' : 'reasoning_signature')
      return []
    }
    return [
      packed
        ? omitUndefined({ ...rest, id: packed.id ?? rest.id, encrypted_content: packed.encrypted })
        : rest,
    ]
  })
}

/** A function call without arguments gets an empty object. */
function fillEmptyArguments(item: JsonObject): JsonObject {
  return item.type === 'function_call' && !item.arguments ? { ...item, arguments: '{}' } : item
}

const initialState: ResponseState = {
  status: 'in_progress',
  output: [],
  usage: null,
  start: { type: 'reply-start' },
}

/**
 * The vendor's response with the gateway's id, model, provider and storage fields. Required fields that the
 * vendor omits are filled in.
 */
export function spliceResponse(response: JsonObject, context: ReplyContext): JsonObject {
  return {
    ...encodeResponse(context, initialState),
    ...response,
    ...maskMcpSecrets(response),
    id: responseIdOf(context.id),
    model: context.model,
    provider: context.provider,
    background: context.body.background ?? false,
    service_tier: normalizeServedTier(response.service_tier ?? context.tier),
    ...encodeStorageFields(context.body),
  }
}

export function passReply(
  body: JsonObject,
  context: ReplyContext,
  cost: UsageCost,
  usage: Usage,
): JsonObject {
  const hidesReasoning = context.call.reasoning?.exclude === true
  const items = asObjects(body.output).map(fillEmptyArguments)
  const output = hidesReasoning ? items.map(hideReasoning) : items
  return {
    ...spliceResponse(body, context),
    output,
    output_text: joinOutputText(output),
    usage: mergeUsage(body.usage, usage, cost),
    ...encodeServiceMetadata(context),
  }
}

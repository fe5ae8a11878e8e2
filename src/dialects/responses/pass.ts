import { effortOf, nearestEffort, unpackReasoning } from '../../call/reasoning.ts'
import type { Bill, Usage } from '../../call/usage.ts'
import { defined, type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { explained, type ReplyFacts, type Target, type UpstreamRequest } from '../dialect.ts'
import { Losses } from '../fields.ts'
import { reasoningFormatOf } from '../reasoning-format.ts'
import { wishAt } from '../thinking.ts'
import { shownTier, tierFor } from '../tier.ts'
import { hideThinking } from './hidden.ts'
import { decodeWish, logprobsInclude } from './request-decode.ts'
import { encryptedInclude, path, usualOutput } from './request-encode.ts'
import { kept, outputText, type ResponseState, responseId, responseObject } from './response-object.ts'
import { ofGateway } from './tools.ts'
import { mergeUsage } from './usage.ts'

/** Fields of our own API, and of the conversation that we keep ourselves: no upstream is told. */
const ours = `models provider plugins route session_id usage preset fallbacks transforms debug trace
  cache_enabled cache_ttl_seconds stop_server_tools_when previous_response_id conversation background`.split(
  /\s+/,
)

/** Words our API adds to the format: upstreams refuse what they do not know, so these are losses. */
const additions =
  `cache_control modalities image_config top_k min_p top_a seed stop frequency_penalty presence_penalty
  repetition_penalty`.split(/\s+/)

/** Where names of `fieldNames` stand in a body of this format under another name. */
const namedOtherwise: Record<string, string> = { max_tokens: 'max_output_tokens', logprobs: 'top_logprobs' }

export function passRequest(body: JsonObject, target: Target): UpstreamRequest {
  const losses = new Losses()
  const passed: JsonObject = { ...body, model: target.model, store: false }
  for (const name of ours) delete passed[name]
  for (const name of additions) drop(passed, name, name, losses)
  for (const name of target.unsupported) drop(passed, namedOtherwise[name] ?? name, name, losses)
  passText(passed, target, losses)
  passReasoning(passed, target, losses)
  passInclude(passed, target)
  if (passed.input !== undefined) passed.input = passInput(passed.input, target, losses)
  if (Array.isArray(passed.tools)) passed.tools = passTools(passed.tools, losses)
  passed.service_tier = tierFor(textOf(passed.service_tier), target, losses)
  passStream(passed, target)
  return { path, headers: {}, body: defined(passed), dropped: losses.list() }
}

function drop(body: JsonObject, field: string, name: string, losses: Losses): void {
  if (!(field in body)) return
  if (body[field] !== null) losses.add(name)
  delete body[field]
}

function passStream(body: JsonObject, target: Target): void {
  if (target.stream) body.stream = true
  else delete body.stream
  // Usage always comes; chat's wish for it would be refused here.
  const { include_usage, ...options } = objectOf(body.stream_options) ?? {}
  delete body.stream_options
  if (target.stream && Object.keys(options).length > 0) body.stream_options = options
}

function passText(body: JsonObject, { unsupported }: Target, losses: Losses): void {
  if (!unsupported.has('response_format') && !unsupported.has('verbosity')) return
  const text = { ...objectOf(body.text) }
  if (unsupported.has('response_format')) drop(text, 'format', 'response_format', losses)
  if (unsupported.has('verbosity')) drop(text, 'verbosity', 'verbosity', losses)
  if (Object.keys(text).length > 0) body.text = text
  else delete body.text
}

/** Our ways to wish for thinking become the one upstreams know. */
function passReasoning(body: JsonObject, target: Target, losses: Losses): void {
  const given = objectOf(body.reasoning)
  const wish = wishAt(decodeWish(given), target)
  if (!given && !wish) return
  const { enabled, max_tokens, exclude, ...reasoning } = given ?? {}
  const limit = typeof body.max_output_tokens === 'number' ? body.max_output_tokens : target.maxOutput
  const effort = wish && effortOf(wish, limit ?? usualOutput)
  if (effort !== undefined && reasoning.effort !== effort && !target.reasoning) {
    losses.add('reasoning')
  } else if (effort !== undefined) {
    reasoning.effort = nearestEffort(effort, target.reasoning?.efforts ?? null)
  }
  if (exclude === true) delete reasoning.summary
  if (Object.keys(reasoning).length > 0) body.reasoning = reasoning
  else delete body.reasoning
}

/** Nothing is stored upstream, so what the model thought must come back with the answer. */
function passInclude(body: JsonObject, target: Target): void {
  const include = Array.isArray(body.include) ? body.include : []
  const wanted = include.filter((name) => name !== logprobsInclude || !target.unsupported.has('logprobs'))
  if (target.reasoning && !wanted.includes(encryptedInclude)) wanted.push(encryptedInclude)
  if (wanted.length > 0 || include.length > 0) body.include = wanted
}

/** Thinking of other vendors stays here; what was packed for the way comes out as it was. */
function passInput(input: unknown, target: Target, losses: Losses): unknown {
  if (!Array.isArray(input)) return input
  return input.flatMap((value): unknown[] => {
    const item = objectOf(value)
    if (item?.type === 'function_call') return [withArguments(item)]
    if (item?.type !== 'reasoning') return [value]
    const packed = unpackReasoning(textOf(item.encrypted_content) ?? '')
    const { format = packed?.format, signature, ...rest } = item
    if (format !== undefined && reasoningFormatOf(format) !== target.signatures) {
      losses.add(packed && !packed.signature && !packed.encrypted ? 'reasoning' : 'reasoning_signature')
      return []
    }
    return [
      packed ? defined({ ...rest, id: packed.id ?? rest.id, encrypted_content: packed.encrypted }) : rest,
    ]
  })
}

/** A call without arguments has an empty object. */
function withArguments(item: JsonObject): JsonObject {
  return item.type === 'function_call' && !item.arguments ? { ...item, arguments: '{}' } : item
}

function passTools(tools: unknown[], losses: Losses): unknown[] {
  return tools.filter((tool) => {
    const type = textOf(objectOf(tool)?.type) ?? ''
    if (!ofGateway(type)) return true
    losses.add(`tool:${type}`)
    return false
  })
}

const untold: ResponseState = {
  status: 'in_progress',
  output: [],
  usage: null,
  start: { type: 'reply-start' },
}

/**
 * The vendor's response with what we say instead: who it is, who made it, what is kept. Fields that the
 * format requires and this vendor leaves out are ours.
 */
export function spliceResponse(response: JsonObject, about: ReplyFacts): JsonObject {
  return {
    ...responseObject(about, untold),
    ...response,
    id: responseId(about.id),
    model: about.model,
    provider: about.provider,
    background: about.body.background ?? false,
    service_tier: shownTier(response.service_tier ?? about.tier),
    ...kept(about.body),
  }
}

export function passReply(body: JsonObject, about: ReplyFacts, bill: Bill, usage: Usage): JsonObject {
  const hides = about.call.reasoning?.exclude === true
  const given = objectsOf(body.output).map(withArguments)
  const output = hides ? given.map(hideThinking) : given
  return {
    ...spliceResponse(body, about),
    output,
    output_text: outputText(output),
    usage: mergeUsage(body.usage, usage, bill),
    ...explained(about),
  }
}

import { asNumber, asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { Losses } from '../fields.ts'
import { withoutTagList } from '../metadata.ts'
import { resolveReasoning } from '../reasoning-options.ts'
import { resolveTier } from '../tier.ts'
import type { Target, UpstreamRequest } from '../wire-format.ts'
import { convertFunctionsToTools } from './legacy-functions.ts'
import { passReasoningHistory } from './reasoning-history.ts'
import { decodeReasoning, gatewayFields, knownFields, vendorEffortOf } from './request-decode.ts'
import { encodeReasoning, encodeStreamFields, maxTokensFieldOf, requestPath } from './request-encode.ts'

/** Fields that are rewritten below. */
const rewrittenFields: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'prompt', 'stream', 'stream_options', 'store', 'tools', 'service_tier'],
  ...['max_tokens', 'max_completion_tokens', 'reasoning', 'reasoning_effort', 'include_reasoning'],
])

/** The client's body, copied only where something changes. */
export function passRequest(original: JsonObject, target: Target): UpstreamRequest {
  const body = convertFunctionsToTools(original)
  const losses = new Losses()
  const passed: JsonObject = { model: target.model, messages: passMessages(body, target, losses) }
  for (const name of Object.keys(body)) {
    const value = body[name]
    if (gatewayFields.has(name) || rewrittenFields.has(name)) continue
    if (value === null && knownFields.has(name)) continue
    if (target.unsupportedFields.has(name)) losses.add(name)
    else passed[name] = value
  }
  if (passed.metadata !== undefined) passed.metadata = withoutTagList(passed.metadata)
  passOptions(body, passed, target, losses)
  passTools(body, passed, target, losses)
  passStream(body, passed, target)
  if (body.store === true) setOrDrop(passed, target, losses, 'store', 'store', true)
  return { path: requestPath, headers: {}, body: passed, dropped: losses.list() }
}

/** Passes a body that `readPlainRequest` accepted, as `passRequest` does: it can only have the listed fields. */
export function passPlainRequest(body: JsonObject, target: Target): UpstreamRequest {
  // A reasoning variant reasons even if the request does not say so.
  if (target.reasoningMode === 'default') return passRequest(body, target)
  const losses = new Losses()
  const messages = body.messages as JsonObject[]
  let isUnchanged = true
  for (const { role } of messages) isUnchanged &&= role === 'user' || role === 'system'
  const passed: JsonObject = {
    model: target.model,
    messages: isUnchanged ? messages : passMessages(body, target, losses),
  }
  for (const name of plainOptions) {
    if (body[name] === undefined) continue
    if (target.unsupportedFields.has(name)) losses.add(name)
    else passed[name] = body[name]
  }
  const maxTokens = body.max_completion_tokens ?? body.max_tokens
  if (maxTokens !== undefined)
    setOrDrop(passed, target, losses, 'max_tokens', maxTokensFieldOf(target), maxTokens)
  if (target.tier !== null) setOrDrop(passed, target, losses, 'service_tier', 'service_tier', target.tier)
  if (target.stream) passStream(body, passed, target)
  return { path: requestPath, headers: {}, body: passed, dropped: losses.list() }
}

const plainOptions = ['temperature', 'top_p', 'user']

function passOptions(body: JsonObject, passed: JsonObject, target: Target, losses: Losses): void {
  const maxTokens = asNumber(body.max_completion_tokens) ?? asNumber(body.max_tokens)
  if (maxTokens !== undefined)
    setOrDrop(passed, target, losses, 'max_tokens', maxTokensFieldOf(target), maxTokens)
  const tier = resolveTier(asString(body.service_tier), target, losses)
  if (tier !== undefined) setOrDrop(passed, target, losses, 'service_tier', 'service_tier', tier)
  const reasoning = asObject(body.reasoning)
  for (const name of ['context', 'mode']) {
    if (reasoning && reasoning[name] !== undefined && reasoning[name] !== null)
      losses.add(`reasoning.${name}`)
  }
  const options = resolveReasoning(decodeReasoning(body), target)
  const { reasoning_effort: effort = vendorEffortOf(body) } = encodeReasoning(
    options,
    maxTokens,
    target,
    losses,
  )
  if (effort !== undefined) setOrDrop(passed, target, losses, 'reasoning', 'reasoning_effort', effort)
}

function setOrDrop(
  passed: JsonObject,
  target: Target,
  losses: Losses,
  name: string,
  field: string,
  value: unknown,
): void {
  if (target.unsupportedFields.has(name)) losses.add(name)
  else passed[field] = value
}

/** Passes the tools. Without any, the tool choice is removed, because upstreams reject it. */
function passTools(body: JsonObject, passed: JsonObject, target: Target, losses: Losses): void {
  const tools = Array.isArray(body.tools) ? body.tools : []
  const isUnsupported = target.unsupportedFields.has('tools')
  if (tools.length > 0 && isUnsupported) losses.add('tools')
  const accepted = isUnsupported ? [] : tools
  if (accepted.length > 0) {
    const dropsCacheControl = target.unsupportedFields.has('cache_control')
    passed.tools = accepted.map((tool) =>
      nestFunctionFields(dropsCacheControl ? dropCacheControl(tool, losses) : tool),
    )
    if (passed.tool_choice !== undefined) passed.tool_choice = withChoiceType(passed.tool_choice)
  } else {
    delete passed.tool_choice
    delete passed.parallel_tool_calls
  }
}

/** Some clients send the fields of a function next to its type, others omit the type. */
function nestFunctionFields(item: unknown): unknown {
  const tool = asObject(item)
  const type = tool?.type ?? 'function'
  if (!tool || type !== 'function') return item
  if (asObject(tool.function)) return tool.type === type ? tool : { ...tool, type }
  const { type: _type, ...functionFields } = tool
  return { type, function: functionFields }
}

/** A choice without a type names a function; `any` has another name in most servers. */
function withChoiceType(choice: unknown): unknown {
  if (choice === 'any') return 'required'
  const choiceObject = asObject(choice)
  return choiceObject && asObject(choiceObject.function) && !choiceObject.type
    ? { ...choiceObject, type: 'function' }
    : choice
}

function passStream(body: JsonObject, passed: JsonObject, target: Target): void {
  const fields = encodeStreamFields(target)
  Object.assign(passed, fields)
  const options = asObject(fields.stream_options)
  if (options) passed.stream_options = { ...asObject(body.stream_options), ...options }
}

function passMessages(body: JsonObject, target: Target, losses: Losses): unknown {
  if (!Array.isArray(body.messages)) return [{ role: 'user', content: body.prompt }]
  return mapChanged(body.messages, (item) => passMessage(item, target, losses))
}

/** Returns the same array if nothing changed: prompts are long, and most pass unmodified. */
function mapChanged(list: unknown[], change: (item: unknown) => unknown): unknown[] {
  let changed: unknown[] | null = null
  for (let at = 0; at < list.length; at++) {
    const next = change(list[at])
    if (next !== list[at]) changed ??= list.slice(0, at)
    if (changed) changed.push(next)
  }
  return changed ?? list
}

function passMessage(item: unknown, target: Target, losses: Losses): unknown {
  let message = asObject(item)
  if (!message) return item
  if (message.role === 'developer' && !target.capabilities.has('developer_role')) {
    message = { ...message, role: 'system' }
  }
  if (Array.isArray(message.content)) {
    const dropsCacheControl = target.unsupportedFields.has('cache_control')
    const content = mapChanged(message.content, (part) =>
      passImagePart(dropsCacheControl ? dropCacheControl(part, losses) : part),
    )
    if (content !== message.content) message = { ...message, content }
  }
  return message.role === 'assistant'
    ? passReasoningHistory(fillEmptyArguments(omitPrefix(message)), target, losses)
    : message
}

/** Only one vendor knows the field, and sets it itself. */
function omitPrefix(message: JsonObject): JsonObject {
  if (message.prefix === undefined) return message
  const { prefix: _prefix, ...rest } = message
  return rest
}

/** Vendors parse the arguments of earlier tool calls, so empty arguments become an empty object. */
function fillEmptyArguments(message: JsonObject): JsonObject {
  if (!Array.isArray(message.tool_calls)) return message
  const toolCalls = mapChanged(message.tool_calls, (item) => {
    const toolCall = asObject(item)
    const functionFields = asObject(toolCall?.function)
    return functionFields && !functionFields.arguments
      ? { ...toolCall, function: { ...functionFields, arguments: '{}' } }
      : item
  })
  return toolCalls === message.tool_calls ? message : { ...message, tool_calls: toolCalls }
}

function dropCacheControl(item: unknown, losses: Losses): unknown {
  const part = asObject(item)
  if (part?.cache_control === undefined) return item
  losses.add('cache_control')
  const { cache_control: _control, ...rest } = part
  return rest
}

/** Some clients send the URL without the object around it. */
function passImagePart(item: unknown): unknown {
  const part = asObject(item)
  if (part?.type !== 'image_url' || typeof part.image_url !== 'string') return item
  return { ...part, image_url: { url: part.image_url } }
}

import { type JsonObject, numberOf, objectOf, textOf } from '../../lib/loose.ts'
import type { Target, UpstreamRequest } from '../dialect.ts'
import { Losses } from '../fields.ts'
import { wishAt } from '../thinking.ts'
import { tierFor } from '../tier.ts'
import { withTools } from './functions.ts'
import { passHistory } from './history.ts'
import { decodeReasoning, gatewayFields, readFields, unknownEffort } from './request-decode.ts'
import { encodeReasoning, maxTokensField, path, streamFields } from './request-encode.ts'
import { isOwnTool } from './tools.ts'

/** Fields that are written anew below. */
const rewritten: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'prompt', 'stream', 'stream_options', 'store', 'tools', 'service_tier'],
  ...['max_tokens', 'max_completion_tokens', 'reasoning', 'reasoning_effort', 'include_reasoning'],
])

/** The client's own body, copied only where something in it must change. */
export function passRequest(given: JsonObject, target: Target): UpstreamRequest {
  const body = withTools(given)
  const losses = new Losses()
  const passed: JsonObject = { model: target.model, messages: passMessages(body, target, losses) }
  for (const name of Object.keys(body)) {
    const value = body[name]
    if (gatewayFields.has(name) || rewritten.has(name)) continue
    if (value === null && readFields.has(name)) continue
    if (target.unsupported.has(name)) losses.add(name)
    else passed[name] = value
  }
  passLimits(body, passed, target, losses)
  passTools(body, passed, target, losses)
  passStream(body, passed, target)
  if (body.store === true) passed.store = true
  return { path, headers: {}, body: passed, dropped: losses.list() }
}

function passLimits(body: JsonObject, passed: JsonObject, target: Target, losses: Losses): void {
  const most = numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens)
  if (most !== undefined) setOrLose(passed, target, losses, 'max_tokens', maxTokensField(target), most)
  const tier = tierFor(textOf(body.service_tier), target, losses)
  if (tier !== undefined) setOrLose(passed, target, losses, 'service_tier', 'service_tier', tier)
  const reasoning = objectOf(body.reasoning)
  for (const name of ['context', 'mode']) {
    if (reasoning && reasoning[name] !== undefined && reasoning[name] !== null)
      losses.add(`reasoning.${name}`)
  }
  const wish = wishAt(decodeReasoning(body), target)
  const { reasoning_effort: effort = unknownEffort(body) } = encodeReasoning(wish, most, target, losses)
  if (effort !== undefined) setOrLose(passed, target, losses, 'reasoning', 'reasoning_effort', effort)
}

function setOrLose(
  passed: JsonObject,
  target: Target,
  losses: Losses,
  name: string,
  field: string,
  value: unknown,
): void {
  if (target.unsupported.has(name)) losses.add(name)
  else passed[field] = value
}

/** Tools of the gateway stay here; without any tool, a choice among them would be refused. */
function passTools(body: JsonObject, passed: JsonObject, target: Target, losses: Losses): void {
  const given = Array.isArray(body.tools) ? body.tools : []
  const refused = target.unsupported.has('tools')
  if (given.length > 0 && refused) losses.add('tools')
  const kept = refused ? [] : given.filter((tool) => passesTool(objectOf(tool), losses))
  if (kept.length > 0) {
    const marksRefused = target.unsupported.has('cache_control')
    passed.tools = kept.map((tool) => flatToNested(marksRefused ? withoutMark(tool, losses) : tool))
    if (passed.tool_choice !== undefined) passed.tool_choice = typedChoice(passed.tool_choice)
  } else {
    delete passed.tool_choice
    delete passed.parallel_tool_calls
  }
}

function passesTool(tool: JsonObject | undefined, losses: Losses): boolean {
  const type = textOf(tool?.type) ?? ''
  if (isOwnTool(type)) losses.add(`tool:${type}`)
  return !isOwnTool(type)
}

/** Some clients write the fields of a function beside its type, others leave the type out. */
function flatToNested(item: unknown): unknown {
  const tool = objectOf(item)
  const type = tool?.type ?? 'function'
  if (!tool || type !== 'function') return item
  if (objectOf(tool.function)) return tool.type === type ? tool : { ...tool, type }
  const { type: _type, ...given } = tool
  return { type, function: given }
}

/** Where the type is left out, a choice names a function. */
function typedChoice(choice: unknown): unknown {
  const named = objectOf(choice)
  return named && objectOf(named.function) && !named.type ? { ...named, type: 'function' } : choice
}

function passStream(body: JsonObject, passed: JsonObject, target: Target): void {
  const fields = streamFields(target)
  Object.assign(passed, fields)
  const options = objectOf(fields.stream_options)
  if (options) passed.stream_options = { ...objectOf(body.stream_options), ...options }
}

function passMessages(body: JsonObject, target: Target, losses: Losses): unknown {
  if (!Array.isArray(body.messages)) return [{ role: 'user', content: body.prompt }]
  return mapChanged(body.messages, (item) => passMessage(item, target, losses))
}

/** The same list when nothing in it changes: prompts are long, and most pass as they are. */
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
  let message = objectOf(item)
  if (!message) return item
  if (message.role === 'developer' && !target.abilities.has('developer_role')) {
    message = { ...message, role: 'system' }
  }
  if (Array.isArray(message.content)) {
    const marksRefused = target.unsupported.has('cache_control')
    const content = mapChanged(message.content, (part) =>
      passImage(marksRefused ? withoutMark(part, losses) : part),
    )
    if (content !== message.content) message = { ...message, content }
  }
  return message.role === 'assistant' ? passHistory(withArguments(message), target, losses) : message
}

/** Vendors parse the arguments of earlier calls: none at all is an empty object. */
function withArguments(message: JsonObject): JsonObject {
  if (!Array.isArray(message.tool_calls)) return message
  const calls = mapChanged(message.tool_calls, (item) => {
    const call = objectOf(item)
    const named = objectOf(call?.function)
    return named && !named.arguments ? { ...call, function: { ...named, arguments: '{}' } } : item
  })
  return calls === message.tool_calls ? message : { ...message, tool_calls: calls }
}

function withoutMark(item: unknown, losses: Losses): unknown {
  const part = objectOf(item)
  if (part?.cache_control === undefined) return item
  losses.add('cache_control')
  const { cache_control: _mark, ...rest } = part
  return rest
}

/** An address in the place of the object that holds it. */
function passImage(item: unknown): unknown {
  const part = objectOf(item)
  if (part?.type !== 'image_url' || typeof part.image_url !== 'string') return item
  return { ...part, image_url: { url: part.image_url } }
}

import type { Call } from '../../call/call.ts'
import type { ReasoningPart } from '../../call/part.ts'
import { unpackReasoning } from '../../call/reasoning.ts'
import { countOf, type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { Target, UpstreamRequest } from '../dialect.ts'
import { Losses } from '../fields.ts'
import { encodeParts, isOwnBlock } from './blocks-encode.ts'
import { isBorrowed } from './citation.ts'
import { hashedUser, path, tierWord } from './request-encode.ts'
import { fallbackMaxTokens, gatewayFields } from './request-fields.ts'
import { nativeFormat } from './thinking.ts'
import { ownTool } from './tools.ts'
import { encodeWish } from './wish.ts'

/** The fields of the body that stand for a field some upstream may refuse. */
const fieldOf: Record<string, string> = {
  tools: 'tools',
  tool_choice: 'tool_choice',
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  stop: 'stop_sequences',
  reasoning: 'thinking',
  cache_control: 'cache_control',
  service_tier: 'service_tier',
  metadata: 'metadata',
}

/** Only what must change is copied; the rest is the client's own objects. */
export function passRequest(given: JsonObject, target: Target): UpstreamRequest {
  const losses = new Losses()
  const body: JsonObject = {}
  for (const name in given) if (!gatewayFields.has(name)) body[name] = given[name]
  body.model = target.model
  body.max_tokens ??= mostTokens(body, target)
  if (target.stream) body.stream = true
  else delete body.stream
  passUser(given, body)
  passTier(body, target, losses)
  passTools(body, losses)
  passThinkingWish(body, target)
  body.messages = passMessages(given.messages, target, losses)
  for (const name of target.unsupported) passUnsupported(body, name, losses)
  return { path, headers: {}, body, dropped: losses.list() }
}

/** For a client that names no limit: one that leaves room for an answer after the thinking it asks for. */
function mostTokens(body: JsonObject, target: Target): number {
  if (target.maxOutput !== null) return target.maxOutput
  return fallbackMaxTokens + countOf(objectOf(body.thinking)?.budget_tokens)
}

/** Users are told apart, never named. */
function passUser(given: JsonObject, body: JsonObject): void {
  const metadata = objectOf(given.metadata)
  const user = textOf(metadata?.user_id) ?? textOf(given.user)
  if (user !== undefined) body.metadata = { ...metadata, user_id: hashedUser(user) }
}

/** Speed is dearer too: only the lane with prices of its own is asked for it. */
function passTier(body: JsonObject, target: Target, losses: Losses): void {
  const tier = tierWord(textOf(body.service_tier), target, losses)
  if (tier !== undefined) body.service_tier = tier
  else delete body.service_tier
  if (body.speed !== 'fast' || target.tier === 'priority') return
  delete body.speed
  losses.add('speed')
}

/** Thinking that the client neither asked for nor refused, and what cannot be refused. */
function passThinkingWish(body: JsonObject, target: Target): void {
  const said = objectOf(body.thinking)
  if (target.thinking === 'always' && said?.type === 'disabled') delete body.thinking
  const isSaid = said !== undefined || objectOf(body.output_config)?.effort !== undefined
  if (target.thinking !== 'default' || isSaid || rulesOutThinking(body)) return
  const call: Call = { messages: [], stream: false, unknown: [], reasoning: { enabled: true } }
  const { thinking, effort } = encodeWish(call, target, countOf(body.max_tokens))
  if (thinking) body.thinking = thinking
  if (effort !== undefined) body.output_config = { ...objectOf(body.output_config), effort }
}

/** The vendor takes neither a temperature nor a forced tool together with thinking: whoever sends them wants none. */
function rulesOutThinking({ temperature, top_k, top_p, tool_choice }: JsonObject): boolean {
  const isForced = ['any', 'tool'].includes(textOf(objectOf(tool_choice)?.type) ?? '')
  const isNarrow = typeof top_p === 'number' && top_p < 0.95
  return isForced || isNarrow || top_k !== undefined || (temperature !== undefined && temperature !== 1)
}

function passTools(body: JsonObject, losses: Losses): void {
  const tools = objectsOf(body.tools)
  const own = tools.filter((tool) => textOf(tool.type)?.startsWith(ownTool))
  if (own.length === 0) return
  for (const tool of own) losses.add(`tool:${tool.type}`)
  body.tools = tools.filter((tool) => !own.includes(tool))
  if (own.length < tools.length) return
  delete body.tools
  delete body.tool_choice
}

function passUnsupported(body: JsonObject, name: string, losses: Losses): void {
  const field = fieldOf[name]
  if (field !== undefined && body[field] !== undefined) {
    delete body[field]
    losses.add(name)
  }
  const config = objectOf(body.output_config)
  const inside = name === 'response_format' ? 'format' : name === 'reasoning' ? 'effort' : undefined
  if (!config || inside === undefined || config[inside] === undefined) return
  const { [inside]: _refused, ...rest } = config
  body.output_config = rest
  losses.add(name)
}

function passMessages(messages: unknown, target: Target, losses: Losses): unknown {
  if (!Array.isArray(messages)) return messages
  let changed = false
  const passed = messages.flatMap((message: unknown) => {
    const next = passMessage(message, target, losses)
    if (next === message) return [message]
    changed = true
    return next === undefined ? [] : [next]
  })
  return changed ? passed : messages
}

/** The message itself when nothing in it must change; undefined when nothing of it is left. */
function passMessage(message: unknown, target: Target, losses: Losses): unknown {
  const given = objectOf(message)
  if (!given || !Array.isArray(given.content)) return message
  let changed = false
  const content = given.content.flatMap((block: unknown) => {
    const next = passBlock(objectOf(block), given.role, target, losses)
    if (next === block) return [block]
    changed = true
    return next === undefined ? [] : [next]
  })
  if (!changed) return message
  return content.length > 0 ? { ...given, content } : undefined
}

function passBlock(block: JsonObject | undefined, role: unknown, target: Target, losses: Losses): unknown {
  const type = textOf(block?.type)
  if (!block || type === undefined) return block
  if (isOwnBlock(type)) return losses.add(`block:${type}`)
  if (type === 'thinking') return passThinking(block, target, losses)
  if (type === 'text') return passText(block, losses)
  // Pictures that another model made and this gateway showed as blocks.
  return type === 'image' && role === 'assistant' ? losses.add('image') : block
}

/** Thinking of another vendor was packed here, and nobody else could read it. */
function passThinking(block: JsonObject, target: Target, losses: Losses): unknown {
  const packed = unpackReasoning(textOf(block.signature) ?? '')
  if (packed) return restored(packed, target, losses)
  if (target.signatures === nativeFormat && !block.signature) return losses.add('reasoning')
  if (block.format === undefined) return block
  const { format: _hint, ...rest } = block
  return rest
}

function restored(part: ReasoningPart, target: Target, losses: Losses): JsonObject | undefined {
  return encodeParts([part], { target, losses, role: 'assistant' })[0]
}

/** The vendor knows nothing of citations that other models made. */
function passText(block: JsonObject, losses: Losses): JsonObject {
  const citations = objectsOf(block.citations)
  if (!citations.some(isBorrowed)) return block
  losses.add('citations')
  const { citations: _all, ...rest } = block
  const own = citations.filter((citation) => !isBorrowed(citation))
  return own.length > 0 ? { ...rest, citations: own } : rest
}

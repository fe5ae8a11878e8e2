import { asCount, asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import type { ReasoningPart } from '../call/part.ts'
import { unpackReasoning } from '../call/reasoning.ts'
import { Losses } from '../fields.ts'
import type { Target, UpstreamRequest } from '../wire-format.ts'
import { encodeParts, isGatewayBlock } from './blocks-encode.ts'
import { isGatewayCitation } from './citation.ts'
import { encodeReasoning } from './reasoning-encode.ts'
import { encodeTier, hashUser, path } from './request-encode.ts'
import { defaultMaxTokens, gatewayFields } from './request-fields.ts'
import { nativeFormat } from './thinking.ts'

/** Body fields by the name under which a provider declares them unsupported. */
const bodyFields: Record<string, string> = {
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

/** Copies only what must change; the rest of the client's body is passed by reference. */
export function passRequest(clientBody: JsonObject, target: Target): UpstreamRequest {
  const losses = new Losses()
  const body: JsonObject = {}
  for (const name in clientBody) if (!gatewayFields.has(name)) body[name] = clientBody[name]
  body.model = target.model
  body.max_tokens ??= resolveMaxTokens(body, target)
  if (target.stream) body.stream = true
  else delete body.stream
  passUser(clientBody, body)
  passTier(body, target, losses)
  passReasoning(body, target)
  body.messages = passMessages(clientBody.messages, target, losses)
  for (const name of target.unsupportedFields) dropUnsupported(body, name, losses)
  return { path, headers: {}, body, dropped: losses.list() }
}

/** Computes a limit for a client that sets none: leaves room for text after the requested thinking budget. */
function resolveMaxTokens(body: JsonObject, target: Target): number {
  if (target.maxOutputTokens !== null) return target.maxOutputTokens
  return defaultMaxTokens + asCount(asObject(body.thinking)?.budget_tokens)
}

/** Upstreams receive a hash of the user id. Other metadata are tags, which the vendor rejects. */
function passUser(clientBody: JsonObject, body: JsonObject): void {
  const metadata = asObject(clientBody.metadata)
  const user = asString(metadata?.user_id) ?? asString(clientBody.user)
  if (user !== undefined) body.metadata = { user_id: hashUser(user) }
  else delete body.metadata
}

/** Fast mode costs more, so it is requested only on the priority tier, which has its own prices. */
function passTier(body: JsonObject, target: Target, losses: Losses): void {
  const tier = encodeTier(asString(body.service_tier), target, losses)
  if (tier !== undefined) body.service_tier = tier
  else delete body.service_tier
  if (body.speed !== 'fast' || target.tier === 'priority') return
  delete body.speed
  losses.add('speed')
}

/** Enables thinking where it is the default and the client did not choose; does not disable it where it is mandatory. */
function passReasoning(body: JsonObject, target: Target): void {
  const requestedThinking = asObject(body.thinking)
  if (target.reasoningMode === 'always' && requestedThinking?.type === 'disabled') delete body.thinking
  const isRequested = requestedThinking !== undefined || asObject(body.output_config)?.effort !== undefined
  if (target.reasoningMode !== 'default' || isRequested || isIncompatibleWithThinking(body)) return
  const call: ModelCall = { messages: [], stream: false, unknown: [], reasoning: { enabled: true } }
  const { thinking, effort } = encodeReasoning(call, target, asCount(body.max_tokens))
  if (thinking) body.thinking = thinking
  if (effort !== undefined) body.output_config = { ...asObject(body.output_config), effort }
}

/** The vendor rejects these settings together with thinking, so default thinking stays off for such a request. */
function isIncompatibleWithThinking({ temperature, top_k, top_p, tool_choice }: JsonObject): boolean {
  const isForced = ['any', 'tool'].includes(asString(asObject(tool_choice)?.type) ?? '')
  const isNarrow = typeof top_p === 'number' && top_p < 0.95
  return isForced || isNarrow || top_k !== undefined || (temperature !== undefined && temperature !== 1)
}

function dropUnsupported(body: JsonObject, name: string, losses: Losses): void {
  const field = bodyFields[name]
  if (field !== undefined && body[field] !== undefined) {
    delete body[field]
    losses.add(name)
  }
  const config = asObject(body.output_config)
  const configField = name === 'response_format' ? 'format' : name === 'reasoning' ? 'effort' : undefined
  if (!config || configField === undefined || config[configField] === undefined) return
  const { [configField]: _refused, ...rest } = config
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

/** The same object when nothing changes; undefined when no content is left. */
function passMessage(message: unknown, target: Target, losses: Losses): unknown {
  const original = asObject(message)
  if (!original || !Array.isArray(original.content)) return message
  let changed = false
  const content = original.content.flatMap((block: unknown) => {
    const next = passBlock(asObject(block), original.role, target, losses)
    if (next === block) return [block]
    changed = true
    return next === undefined ? [] : [next]
  })
  if (!changed) return message
  return content.length > 0 ? { ...original, content } : undefined
}

function passBlock(block: JsonObject | undefined, role: unknown, target: Target, losses: Losses): unknown {
  const type = asString(block?.type)
  if (!block || type === undefined) return block
  if (isGatewayBlock(type)) return losses.add(`block:${type}`)
  if (type === 'thinking') return passThinking(block, target, losses)
  if (type === 'text') return passText(block, losses)
  // Images that another model generated and the gateway sent as blocks.
  return type === 'image' && role === 'assistant' ? losses.add('image') : block
}

/** Unpacks another vendor's reasoning, which only the gateway can read. */
function passThinking(block: JsonObject, target: Target, losses: Losses): unknown {
  const packed = unpackReasoning(asString(block.signature) ?? '')
  if (packed) return restoreReasoning(packed, target, losses)
  if (target.signatureFormat === nativeFormat && !block.signature) return losses.add('reasoning')
  if (block.format === undefined) return block
  const { format: _hint, ...rest } = block
  return rest
}

function restoreReasoning(part: ReasoningPart, target: Target, losses: Losses): JsonObject | undefined {
  return encodeParts([part], { target, losses, role: 'assistant' })[0]
}

/** Removes citations of other models' replies, which the vendor would reject. */
function passText(block: JsonObject, losses: Losses): JsonObject {
  const citations = asObjects(block.citations)
  if (!citations.some(isGatewayCitation)) return block
  losses.add('citations')
  const { citations: _all, ...rest } = block
  const nativeCitations = citations.filter((citation) => !isGatewayCitation(citation))
  return nativeCitations.length > 0 ? { ...rest, citations: nativeCitations } : rest
}

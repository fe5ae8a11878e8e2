import type { Message } from '../../call/call.ts'
import type { InputPart, OutputPart, ReasoningPart, ToolCallPart, ToolResultPart } from '../../call/part.ts'
import { belongsTo } from '../../call/reasoning.ts'
import { type JsonObject, textOf } from '../../lib/loose.ts'
import type { Target } from '../dialect.ts'
import type { Losses } from '../fields.ts'
import { encodeHistory } from './history.ts'
import { encodePart } from './parts-encode.ts'
import { isBareSignature } from './reasoning-details.ts'

type Part = InputPart | OutputPart

export function encodeMessages(messages: Message[], target: Target, losses: Losses): JsonObject[] {
  return messages.flatMap((message) => {
    if (message.role === 'assistant') return [encodeAssistant(message, target, losses)]
    if (message.role === 'user') return encodeUser(message, losses)
    return [encodeInstruction(message, target, losses)]
  })
}

function named(message: Message): JsonObject {
  return message.name === undefined ? {} : { name: message.name }
}

/** Upstreams that know only text there are many: several blocks become paragraphs. */
function encodeInstruction(message: Message, target: Target, losses: Losses): JsonObject {
  const role =
    message.role === 'developer' && !target.abilities.has('developer_role') ? 'system' : message.role
  return { role, content: contentOf(message.parts, losses, '\n\n'), ...named(message) }
}

/** Results come first: they must follow the calls they answer. */
function encodeUser(message: Message, losses: Losses): JsonObject[] {
  const results = message.parts.filter((part) => part.kind === 'tool-result')
  const rest: Part[] = message.parts.filter((part) => part.kind !== 'tool-result')
  const moved: Part[] = []
  const encoded = results.map((result) => encodeResult(result, moved, losses))
  const parts = [...moved, ...rest]
  if (parts.length > 0 || results.length === 0) {
    encoded.push({ role: 'user', content: contentOf(parts, losses), ...named(message) })
  }
  return encoded
}

/** Results are text here; what else they hold moves into the message behind them. */
function encodeResult(result: ToolResultPart, moved: Part[], losses: Losses): JsonObject {
  if (result.isError) losses.add('is_error')
  if (result.cache) losses.add('cache_control')
  const kept: Part[] = []
  for (const part of result.content) {
    if (part.kind === 'image' || part.kind === 'file') moved.push(part)
    else kept.push(part)
  }
  return { role: 'tool', tool_call_id: result.id, content: contentOf(kept, losses, '\n\n') }
}

/** Plain text as a string; anything else, or several texts where no way to join them is given, as parts. */
function contentOf(parts: Part[], losses: Losses, joint?: string): string | JsonObject[] {
  const encoded = parts.map((part) => encodePart(part, losses)).filter((part) => part !== undefined)
  const texts = encoded.flatMap((part) => (part.type === 'text' ? [textOf(part.text) ?? ''] : []))
  const plain = texts.length === encoded.length
  if (plain && (texts.length < 2 || joint !== undefined)) return texts.join(joint)
  return encoded
}

function encodeAssistant(message: Message, target: Target, losses: Losses): JsonObject {
  const calls = message.parts.filter((part) => part.kind === 'tool-call')
  const thoughts = message.parts.filter((part) => part.kind === 'reasoning')
  const content = encodeSaid(message.parts, losses)
  const encoded: JsonObject = { role: 'assistant', content, ...named(message) }
  const refusal = message.parts.flatMap((part) => (part.kind === 'refusal' ? [part.text] : [])).join('')
  if (refusal !== '') encoded.refusal = refusal
  if (calls.length > 0) {
    encoded.tool_calls = calls.map((call) => encodeCall(call, thoughts, target, losses))
    if (content === '') encoded.content = null
  }
  const audio = message.parts.find((part) => part.kind === 'audio')
  if (audio?.id !== undefined) encoded.audio = { id: audio.id }
  else if (audio) losses.add('audio')
  return encodeHistory(encoded, thoughts, target, losses)
}

/** What an assistant said: text pieces are one text, whatever they were cut by. */
function encodeSaid(parts: Part[], losses: Losses): string | JsonObject[] {
  const said = parts.filter((part) => part.kind === 'text' || part.kind === 'image' || part.kind === 'opaque')
  return contentOf(said, losses, '')
}

function encodeCall(
  call: ToolCallPart,
  thoughts: ReasoningPart[],
  target: Target,
  losses: Losses,
): JsonObject {
  if (call.cache) losses.add('cache_control')
  const { id, name } = call
  if (call.custom) return { id, type: 'custom', custom: { name, input: call.arguments } }
  const encoded = { id, type: 'function', function: { name, arguments: call.arguments } }
  const signed = thoughts.find((part) => isBareSignature(part) && part.id === id)
  if (!signed || !belongsTo(signed, target.signatures)) return encoded
  return { ...encoded, extra_content: { google: { thought_signature: signed.signature } } }
}

import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Message } from '../call/call.ts'
import type { InputPart, OutputPart, ReasoningPart, ToolCallPart, ToolResultPart } from '../call/part.ts'
import { canReplayReasoning } from '../call/reasoning.ts'
import type { Losses } from '../fields.ts'
import type { Target } from '../wire-format.ts'
import { encodePart } from './parts-encode.ts'
import { isBareSignature } from './reasoning-details.ts'
import { encodeReasoningHistory } from './reasoning-history.ts'

type Part = InputPart | OutputPart

export function encodeMessages(messages: Message[], target: Target, losses: Losses): JsonObject[] {
  return messages.flatMap((message) => {
    if (message.role === 'assistant') return [encodeAssistant(message, target, losses)]
    if (message.role === 'user') return encodeUser(message, losses)
    return [encodeInstruction(message, target, losses)]
  })
}

function nameField(message: Message): JsonObject {
  return message.name === undefined ? {} : { name: message.name }
}

/** Many upstreams only accept text here: several blocks are joined as paragraphs. */
function encodeInstruction(message: Message, target: Target, losses: Losses): JsonObject {
  const role =
    message.role === 'developer' && !target.capabilities.has('developer_role') ? 'system' : message.role
  return { role, content: encodeContent(message.parts, losses, '\n\n'), ...nameField(message) }
}

/** Tool results come first: they must directly follow their tool calls. */
function encodeUser(message: Message, losses: Losses): JsonObject[] {
  const results = message.parts.filter((part) => part.kind === 'tool-result')
  const rest: Part[] = message.parts.filter((part) => part.kind !== 'tool-result')
  const moved: Part[] = []
  const encoded = results.map((result) => encodeToolResult(result, moved, losses))
  const parts = [...moved, ...rest]
  if (parts.length > 0 || results.length === 0) {
    encoded.push({ role: 'user', content: encodeContent(parts, losses), ...nameField(message) })
  }
  return encoded
}

/** Tool results are text in this format; their images and files move into the user message after them. */
function encodeToolResult(result: ToolResultPart, moved: Part[], losses: Losses): JsonObject {
  if (result.isError) losses.add('is_error')
  if (result.cache) losses.add('cache_control')
  const content: Part[] = []
  for (const part of result.content) {
    if (part.kind === 'image' || part.kind === 'file') moved.push(part)
    else content.push(part)
  }
  return { role: 'tool', tool_call_id: result.id, content: encodeContent(content, losses, '\n\n') }
}

/** A string for plain text; parts for anything else, and for several texts without a separator. */
function encodeContent(parts: Part[], losses: Losses, separator?: string): string | JsonObject[] {
  const encoded = parts.map((part) => encodePart(part, losses)).filter((part) => part !== undefined)
  const texts = encoded.flatMap((part) => (part.type === 'text' ? [asString(part.text) ?? ''] : []))
  const plain = texts.length === encoded.length
  if (plain && (texts.length < 2 || separator !== undefined)) return texts.join(separator)
  return encoded
}

function encodeAssistant(message: Message, target: Target, losses: Losses): JsonObject {
  const toolCalls = message.parts.filter((part) => part.kind === 'tool-call')
  const reasoning = message.parts.filter((part) => part.kind === 'reasoning')
  const content = encodeAssistantContent(message.parts, losses)
  const encoded: JsonObject = { role: 'assistant', content, ...nameField(message) }
  const refusal = message.parts.flatMap((part) => (part.kind === 'refusal' ? [part.text] : [])).join('')
  if (refusal !== '') encoded.refusal = refusal
  if (toolCalls.length > 0) {
    const signatures = findSignatures(reasoning)
    encoded.tool_calls = toolCalls.map((part) => encodeToolCall(part, signatures, target, losses))
    if (content === '') encoded.content = null
  }
  const audio = message.parts.find((part) => part.kind === 'audio')
  if (audio?.id !== undefined) encoded.audio = { id: audio.id }
  else if (audio) losses.add('audio')
  return encodeReasoningHistory(encoded, reasoning, target, losses)
}

/** All text parts of an assistant message become one text. */
function encodeAssistantContent(parts: Part[], losses: Losses): string | JsonObject[] {
  const content = parts.filter(
    (part) => part.kind === 'text' || part.kind === 'image' || part.kind === 'opaque',
  )
  return encodeContent(content, losses, '')
}

/** The first bare signature of each tool call, by its id. */
function findSignatures(reasoning: readonly ReasoningPart[]): Map<string | undefined, ReasoningPart> {
  return new Map(
    reasoning
      .filter(isBareSignature)
      .toReversed()
      .map((part) => [part.id, part]),
  )
}

function encodeToolCall(
  toolCall: ToolCallPart,
  signatures: ReadonlyMap<string | undefined, ReasoningPart>,
  target: Target,
  losses: Losses,
): JsonObject {
  const { id, name, arguments: argumentsText, custom, cache } = toolCall
  if (cache) losses.add('cache_control')
  if (custom) return { id, type: 'custom', custom: { name, input: argumentsText } }
  const encoded = { id, type: 'function', function: { name, arguments: argumentsText } }
  const signaturePart = signatures.get(id)
  if (!signaturePart || !canReplayReasoning(signaturePart, target.signatureFormat)) return encoded
  return { ...encoded, extra_content: { google: { thought_signature: signaturePart.signature } } }
}

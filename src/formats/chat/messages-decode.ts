import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Message } from '../call/call.ts'
import type { InputPart, OutputPart, ReasoningPart, ToolCallPart, ToolResultPart } from '../call/part.ts'
import { ToolResults } from '../tool-results.ts'
import { decodeAnnotation, decodeCacheControl, decodeContent, decodeSource } from './parts-decode.ts'
import { decodeReasoningDetails, decodeServerTool } from './reasoning-details.ts'
import { functionFieldsOf, isCustomToolCall } from './tool-call-table.ts'

/** State carried from one message to the next. */
interface DecodeState {
  messages: Message[]
  /** Calls of free-text tools: their results are marked `custom`. */
  customCallIds: Set<string>
  effort: unknown
  /** Message fields that other formats do not have. */
  unknown: Set<string>
  toolResults: ToolResults
}

type Part = InputPart | OutputPart

type DecodedMessages = Pick<DecodeState, 'messages' | 'effort' | 'unknown'>

export function decodeMessages(body: JsonObject): DecodedMessages {
  const decoded: Message[] = []
  const state: DecodeState = {
    messages: decoded,
    toolResults: new ToolResults(decoded),
    customCallIds: new Set(),
    effort: undefined,
    unknown: new Set(),
  }
  const messages = body.messages
  if (messages === undefined || messages === null) {
    const prompt = asString(body.prompt)
    if (prompt === undefined) throw invalidFieldError('messages', 'is required')
    return { ...state, messages: [{ role: 'user', parts: [{ kind: 'text', text: prompt }] }] }
  }
  if (!Array.isArray(messages)) throw invalidFieldError('messages', 'must be an array')
  messages.forEach((item, index) => {
    decodeMessage(item, `messages[${index}]`, state)
  })
  return state
}

/** `prefix` marks a last message that the model continues, as it does without. */
const knownMessageFields = new Set([
  ...['role', 'content', 'name', 'prefix', 'cache_control', 'configuration_update'],
  ...['tool_calls', 'function_call', 'tool_call_id', 'refusal', 'annotations', 'audio', 'images'],
  ...['reasoning', 'reasoning_content', 'reasoning_details'],
])

function decodeMessage(item: unknown, at: string, state: DecodeState): void {
  const message = asObject(item)
  if (!message) throw invalidFieldError(at, 'must be a message')
  for (const name in message) {
    if (knownMessageFields.has(name) || message[name] === null || message[name] === undefined) continue
    state.unknown.add(`messages.${name}`)
  }
  const content = `${at}.content`
  switch (message.role) {
    case 'system':
    case 'developer': {
      const update = asObject(asObject(message.configuration_update)?.reasoning)
      if (update) state.effort = update.effort
      addMessage(state, message.role, decodeContent(message.content, content), message)
      break
    }
    case 'user':
      addMessage(state, 'user', decodeContent(message.content, content), message)
      break
    case 'assistant':
      addMessage(state, 'assistant', decodeAssistant(message, at, state), message)
      break
    case 'tool':
      addToolResult(state, message, asString(message.tool_call_id), at)
      break
    default:
      throw invalidFieldError(`${at}.role`, 'must be system, developer, user, assistant or tool')
  }
}

function addMessage(state: DecodeState, role: Message['role'], parts: Part[], message: JsonObject): void {
  const name = asString(message.name)
  state.messages.push({ role, parts, ...(name !== undefined && { name }) })
}

/** The tool results of one turn form one message. */
function addToolResult(state: DecodeState, message: JsonObject, id: string | undefined, at: string): void {
  if (id === undefined) throw invalidFieldError(`${at}.tool_call_id`, 'is required')
  const name = asString(message.name)
  const cache = decodeCacheControl(message)
  const result: ToolResultPart = {
    kind: 'tool-result',
    id,
    content: decodeContent(message.content, `${at}.content`).map(toResultPart),
    ...(name !== undefined && { name }),
    ...(state.customCallIds.has(id) && { custom: true }),
    ...(cache && { cache }),
  }
  state.toolResults.add(result)
}

function toResultPart(part: Part): ToolResultPart['content'][number] {
  if (part.kind === 'text' || part.kind === 'image' || part.kind === 'file' || part.kind === 'opaque')
    return part
  return { kind: 'opaque', wireFormat: 'chat', value: { ...part, type: part.kind } }
}

function decodeAssistant(message: JsonObject, at: string, state: DecodeState): OutputPart[] {
  const toolCalls = decodeToolCalls(message, at, state)
  const reasoning = [...decodeReasoningParts(message), ...decodeToolCallSignatures(message)]
  const callIds = new Set(toolCalls.map(({ id }) => id))
  const signatures = Map.groupBy(reasoning, (part) => findSignedCall(part, callIds))
  const parts: Part[] = signatures.get(null) ?? []
  parts.push(...attachCitations(decodeContent(message.content, `${at}.content`), message.annotations))
  const refusal = asString(message.refusal)
  if (refusal) parts.push({ kind: 'refusal', text: refusal })
  for (const toolCall of toolCalls) {
    // The signature of a tool call comes before it: the first, if several have the same id.
    for (const signature of signatures.get(toolCall.id) ?? []) parts.push(signature)
    signatures.delete(toolCall.id)
    parts.push(toolCall)
  }
  parts.push(...decodeMedia(message))
  return parts as OutputPart[]
}

/** The id of the tool call that the part is the signature of; null if it is none. */
function findSignedCall(part: ReasoningPart | OutputPart, callIds: ReadonlySet<string>): string | null {
  if (part.kind !== 'reasoning' || part.format !== 'vendor_c-v1' || part.id === undefined) return null
  return callIds.has(part.id) ? part.id : null
}

function decodeReasoningParts(message: JsonObject): OutputPart[] {
  const details = decodeReasoningDetails(message.reasoning_details)
  if (details.length > 0) {
    return details.map((part) =>
      isReasoningPart(part)
        ? part
        : (decodeServerTool(part) ?? { kind: 'opaque', wireFormat: 'chat', value: part }),
    )
  }
  const text = asString(message.reasoning) || asString(message.reasoning_content)
  return text ? [{ kind: 'reasoning', text, summary: [], format: 'unknown' }] : []
}

function isReasoningPart(part: ReasoningPart | JsonObject): part is ReasoningPart {
  return part.kind === 'reasoning'
}

/** Signatures that one vendor's endpoint of this format attaches to its tool calls. */
function decodeToolCallSignatures(message: JsonObject): OutputPart[] {
  return asObjects(message.tool_calls).flatMap((toolCall) => {
    const [id, signature] = [asString(toolCall.id), toolCallSignatureOf(toolCall)]
    if (id === undefined || signature === undefined) return []
    return [{ kind: 'reasoning', id, text: '', summary: [], signature, format: 'vendor_c-v1' }]
  })
}

export function toolCallSignatureOf(toolCall: JsonObject): string | undefined {
  return asString(asObject(asObject(toolCall.extra_content)?.google)?.thought_signature)
}

function decodeToolCalls(message: JsonObject, at: string, state: DecodeState): ToolCallPart[] {
  const toolCalls = asObjects(message.tool_calls).map((toolCall, index) =>
    decodeToolCall(toolCall, `${at}.tool_calls[${index}]`),
  )
  for (const { id, custom } of toolCalls) if (custom) state.customCallIds.add(id)
  return toolCalls
}

function decodeToolCall(toolCall: JsonObject, at: string): ToolCallPart {
  const [id, custom] = [asString(toolCall.id), isCustomToolCall(toolCall)]
  if (id === undefined) throw invalidFieldError(`${at}.id`, 'is required')
  const functionFields = functionFieldsOf(toolCall)
  const name = asString(functionFields.name)
  if (name === undefined) throw invalidFieldError(`${at}.function.name`, 'is required')
  const cache = decodeCacheControl(toolCall)
  return {
    kind: 'tool-call',
    id,
    name,
    arguments: custom
      ? (asString(functionFields.input) ?? '')
      : toArgumentsText(functionFields.arguments) || '{}',
    ...(custom && { custom }),
    ...(cache && { cache }),
  }
}

/** Arguments as text: some clients and vendors send an object instead. */
export function toArgumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function attachCitations(parts: Part[], annotations: unknown): Part[] {
  const citations = asObjects(annotations).map(decodeAnnotation)
  if (citations.length === 0) return parts
  const at = parts.findLastIndex((part) => part.kind === 'text')
  return parts.map((part, index) => (index === at && part.kind === 'text' ? { ...part, citations } : part))
}

function decodeMedia(message: JsonObject): Part[] {
  const parts: Part[] = []
  const audio = asObject(message.audio)
  if (audio) {
    const [id, transcript] = [asString(audio.id), asString(audio.transcript)]
    parts.push({
      kind: 'audio',
      data: asString(audio.data) ?? '',
      format: asString(audio.format) ?? '',
      ...(id !== undefined && { id }),
      ...(transcript !== undefined && { transcript }),
    })
  }
  for (const image of asObjects(message.images)) {
    const url = asString(asObject(image.image_url)?.url) ?? asString(image.image_url)
    if (url !== undefined) parts.push({ kind: 'image', source: decodeSource(url) })
  }
  return parts
}

import type { Message } from '../../call/call.ts'
import type { InputPart, OutputPart, ReasoningPart, ToolCallPart, ToolResultPart } from '../../call/part.ts'
import { badField } from '../../errors.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { functionOf, isCustomCall } from './call-table.ts'
import { cacheOf, decodeAnnotation, decodeContent, sourceOf } from './parts-decode.ts'
import { readDetails } from './reasoning-details.ts'

/** What one message leaves for the next ones. */
interface Conversation {
  messages: Message[]
  /** Calls of tools that take free text: their results are marked as such. */
  custom: Set<string>
  effort: unknown
  /** Fields of messages that no other format has. */
  unknown: Set<string>
}

type Part = InputPart | OutputPart

type Decoded = Pick<Conversation, 'messages' | 'effort' | 'unknown'>

export function decodeMessages(body: JsonObject): Decoded {
  const talk: Conversation = {
    messages: [],
    custom: new Set(),
    effort: undefined,
    unknown: new Set(),
  }
  const given = body.messages
  if (given === undefined || given === null) {
    const prompt = textOf(body.prompt)
    if (prompt === undefined) throw badField('messages', 'is required')
    return { ...talk, messages: [{ role: 'user', parts: [{ kind: 'text', text: prompt }] }] }
  }
  if (!Array.isArray(given)) throw badField('messages', 'must be an array')
  given.forEach((item, index) => {
    decodeMessage(item, `messages[${index}]`, talk)
  })
  return talk
}

const messageFields = new Set([
  ...['role', 'content', 'name', 'cache_control', 'configuration_update'],
  ...['tool_calls', 'function_call', 'tool_call_id', 'refusal', 'annotations', 'audio', 'images'],
  ...['reasoning', 'reasoning_content', 'reasoning_details'],
])

function decodeMessage(item: unknown, at: string, talk: Conversation): void {
  const message = objectOf(item)
  if (!message) throw badField(at, 'must be a message')
  for (const name in message) {
    if (messageFields.has(name) || message[name] === null || message[name] === undefined) continue
    talk.unknown.add(`messages.${name}`)
  }
  const content = `${at}.content`
  switch (message.role) {
    case 'system':
    case 'developer': {
      const update = objectOf(objectOf(message.configuration_update)?.reasoning)
      if (update) talk.effort = update.effort
      add(talk, message.role, decodeContent(message.content, content), message)
      break
    }
    case 'user':
      add(talk, 'user', decodeContent(message.content, content), message)
      break
    case 'assistant':
      add(talk, 'assistant', decodeAssistant(message, at, talk), message)
      break
    case 'tool':
      addResult(talk, message, textOf(message.tool_call_id), at)
      break
    default:
      throw badField(`${at}.role`, 'must be system, developer, user, assistant or tool')
  }
}

function add(talk: Conversation, role: Message['role'], parts: Part[], message: JsonObject): void {
  const name = textOf(message.name)
  talk.messages.push({ role, parts, ...(name !== undefined && { name }) })
}

/** Results of one turn's calls are one message. */
function addResult(talk: Conversation, message: JsonObject, id: string | undefined, at: string): void {
  if (id === undefined) throw badField(`${at}.tool_call_id`, 'is required')
  const name = textOf(message.name)
  const cache = cacheOf(message)
  const result: ToolResultPart = {
    kind: 'tool-result',
    id,
    content: decodeContent(message.content, `${at}.content`).map(resultPart),
    ...(name !== undefined && { name }),
    ...(talk.custom.has(id) && { custom: true }),
    ...(cache && { cache }),
  }
  const last = talk.messages.at(-1)
  if (last?.role === 'user' && last.parts.every((part) => part.kind === 'tool-result'))
    last.parts.push(result)
  else talk.messages.push({ role: 'user', parts: [result] })
}

function resultPart(part: Part): ToolResultPart['content'][number] {
  if (part.kind === 'text' || part.kind === 'image' || part.kind === 'file' || part.kind === 'opaque')
    return part
  return { kind: 'opaque', dialect: 'chat', value: { ...part, type: part.kind } }
}

function decodeAssistant(message: JsonObject, at: string, talk: Conversation): OutputPart[] {
  const calls = decodeCalls(message, at, talk)
  const reasoning = [...decodeThoughts(message), ...decodeCallSignatures(message)]
  const parts: Part[] = reasoning.filter((part) => !belongsToCall(part, calls))
  parts.push(...withCitations(decodeContent(message.content, `${at}.content`), message.annotations))
  const refusal = textOf(message.refusal)
  if (refusal) parts.push({ kind: 'refusal', text: refusal })
  for (const call of calls) {
    // A signature of a call stands before it.
    parts.push(...reasoning.filter((part) => belongsToCall(part, [call])), call)
  }
  parts.push(...decodeMedia(message))
  return parts as OutputPart[]
}

function belongsToCall(part: ReasoningPart | OutputPart, calls: ToolCallPart[]): boolean {
  if (part.kind !== 'reasoning' || part.format !== 'vendor_c-v1' || part.id === undefined) return false
  return calls.some((call) => call.id === part.id)
}

function decodeThoughts(message: JsonObject): OutputPart[] {
  const details = readDetails(message.reasoning_details)
  if (details.length > 0) {
    return details.map((part) =>
      isReasoning(part) ? part : { kind: 'opaque', dialect: 'chat', value: part },
    )
  }
  const text = textOf(message.reasoning) ?? textOf(message.reasoning_content)
  return text ? [{ kind: 'reasoning', text, summary: [], format: 'unknown' }] : []
}

function isReasoning(part: ReasoningPart | JsonObject): part is ReasoningPart {
  return part.kind === 'reasoning'
}

/** Signatures that one vendor's own endpoint of this format hangs on its calls. */
function decodeCallSignatures(message: JsonObject): OutputPart[] {
  return objectsOf(message.tool_calls).flatMap((call) => {
    const [id, signature] = [textOf(call.id), callSignature(call)]
    if (id === undefined || signature === undefined) return []
    return [{ kind: 'reasoning', id, text: '', summary: [], signature, format: 'vendor_c-v1' }]
  })
}

export function callSignature(call: JsonObject): string | undefined {
  return textOf(objectOf(objectOf(call.extra_content)?.google)?.thought_signature)
}

function decodeCalls(message: JsonObject, at: string, talk: Conversation): ToolCallPart[] {
  const calls = objectsOf(message.tool_calls).map((call, index) =>
    decodeCall(call, `${at}.tool_calls[${index}]`),
  )
  for (const call of calls) if (call.custom) talk.custom.add(call.id)
  return calls
}

function decodeCall(call: JsonObject, at: string): ToolCallPart {
  const [id, custom] = [textOf(call.id), isCustomCall(call)]
  if (id === undefined) throw badField(`${at}.id`, 'is required')
  const named = functionOf(call)
  const name = textOf(named.name)
  if (name === undefined) throw badField(`${at}.function.name`, 'is required')
  const cache = cacheOf(call)
  return {
    kind: 'tool-call',
    id,
    name,
    arguments: custom ? (textOf(named.input) ?? '') : argumentsText(named.arguments) || '{}',
    ...(custom && { custom }),
    ...(cache && { cache }),
  }
}

/** Text as it is; the object that some clients and vendors write instead, as text. */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function withCitations(parts: Part[], annotations: unknown): Part[] {
  const citations = objectsOf(annotations).map(decodeAnnotation)
  if (citations.length === 0) return parts
  const at = parts.findLastIndex((part) => part.kind === 'text')
  return parts.map((part, index) => (index === at && part.kind === 'text' ? { ...part, citations } : part))
}

function decodeMedia(message: JsonObject): Part[] {
  const parts: Part[] = []
  const audio = objectOf(message.audio)
  if (audio) {
    const [id, transcript] = [textOf(audio.id), textOf(audio.transcript)]
    parts.push({
      kind: 'audio',
      data: textOf(audio.data) ?? '',
      format: textOf(audio.format) ?? '',
      ...(id !== undefined && { id }),
      ...(transcript !== undefined && { transcript }),
    })
  }
  for (const image of objectsOf(message.images)) {
    const url = textOf(objectOf(image.image_url)?.url) ?? textOf(image.image_url)
    if (url !== undefined) parts.push({ kind: 'image', source: sourceOf(url) })
  }
  return parts
}

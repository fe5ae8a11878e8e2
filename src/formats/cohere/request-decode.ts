import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { Message, ModelCall } from '../call/call.ts'
import type { FilePart } from '../call/part.ts'
import { decodeRequest as decodeChat, gatewayFields } from '../chat/request-decode.ts'

/** Fields with the same name and meaning in the chat format. */
const sameFields = [
  ...['model', 'stream', 'max_tokens', 'temperature', 'seed', 'frequency_penalty', 'presence_penalty'],
  ...['logprobs', 'tools', 'user'],
]

const knownFields: ReadonlySet<string> = new Set([
  ...sameFields,
  ...['messages', 'strict_tools', 'tool_choice', 'documents', 'citation_options', 'response_format'],
  ...['thinking', 'stop_sequences', 'k', 'p'],
])

/** The format is a variant of the chat format: it is decoded as such, and the documents are added. */
export function decodeRequest(body: JsonObject): ModelCall {
  const call = decodeChat(toChatBody(body))
  const unknown = Object.keys(body).filter(
    (name) =>
      !knownFields.has(name) && !gatewayFields.has(name) && body[name] !== null && body[name] !== undefined,
  )
  return {
    ...call,
    ...(body.strict_tools === true && call.tools && { tools: call.tools.map(makeStrict) }),
    messages: addDocuments(call.messages, decodeDocuments(body)),
    unknown: [...new Set([...call.unknown, ...unknown])],
  }
}

function makeStrict(tool: NonNullable<ModelCall['tools']>[number]) {
  return tool.kind === 'function' ? { ...tool, strict: true } : tool
}

function toChatBody(body: JsonObject): JsonObject {
  const same = sameFields.map((name) => [name, body[name] ?? undefined] as const)
  return omitUndefined({
    ...Object.fromEntries(same),
    messages: asObjects(body.messages).map(toChatMessage),
    top_k: body.k ?? undefined,
    top_p: body.p ?? undefined,
    stop: body.stop_sequences ?? undefined,
    tool_choice: asString(body.tool_choice)?.toLowerCase(),
    response_format: toChatFormat(asObject(body.response_format)),
    reasoning: toChatReasoning(asObject(body.thinking)),
  })
}

function toChatFormat(format: JsonObject | undefined): JsonObject | undefined {
  const schema = asObject(format?.json_schema)
  return schema ? { type: 'json_schema', json_schema: { name: 'reply', schema } } : format
}

function toChatReasoning(thinking: JsonObject | undefined): JsonObject | undefined {
  if (!thinking) return undefined
  if (thinking.type === 'disabled') return { enabled: false }
  return omitUndefined({ enabled: true, max_tokens: thinking.token_budget ?? undefined })
}

function toChatMessage(message: JsonObject): JsonObject {
  const { role, content, tool_plan: plan, citations: _, ...rest } = message
  if (role === 'tool') return { ...rest, role, content: joinToolContent(content) }
  if (role !== 'assistant') return { ...rest, role, content: content ?? '' }
  const parts = asObjects(content)
  const thinking = parts.flatMap((part) => (part.type === 'thinking' ? [asString(part.thinking) ?? ''] : []))
  const others = parts.filter((part) => part.type !== 'thinking')
  const spoken = Array.isArray(content) ? others : content
  const isSilent = !spoken || (Array.isArray(spoken) && spoken.length === 0)
  return omitUndefined({
    ...rest,
    role,
    // What the model said before it called its tools.
    content: isSilent ? (plan ?? null) : spoken,
    reasoning: thinking.join('\n\n') || undefined,
  })
}

function joinToolContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? ''
  return asObjects(content).map((part) =>
    part.type === 'document' ? { type: 'text', text: formatResult(asObject(part.document) ?? {}) } : part,
  )
}

/** Formats a result with its id, by which the model can name it. */
function formatResult(document: JsonObject): string {
  const data = asObject(document.data)
  const id = asString(document.id)
  return data && id !== undefined ? JSON.stringify({ id, ...data }) : formatDocument(document)
}

function formatDocument({ data }: JsonObject): string {
  return typeof data === 'string' ? data : JSON.stringify(data ?? {})
}

function decodeDocuments({ documents, citation_options }: JsonObject): FilePart[] {
  if (!Array.isArray(documents)) return []
  const citationsEnabled = !modesWithoutCitations.has(asString(asObject(citation_options)?.mode) ?? '')
  return documents.map((document) => ({
    kind: 'file',
    source: { kind: 'text', text: readDocument(document) },
    // Citations name a document by its id.
    ...omitUndefined({ filename: asString(asObject(document)?.id) }),
    ...(citationsEnabled && { citationsEnabled }),
  }))
}

const modesWithoutCitations: ReadonlySet<string> = new Set(['OFF', 'off', 'DISABLED', 'disabled'])

/** A document with nothing but a text needs no field names. */
function readDocument(document: unknown): string {
  if (typeof document === 'string') return document
  const fields = asObject(document) ?? {}
  const data = asObject(fields.data)
  const text = asString(data?.text)
  return text !== undefined && Object.keys(data ?? {}).length === 1 ? text : formatDocument(fields)
}

/** Inserts documents before the text of the last message that the user wrote. */
function addDocuments(messages: Message[], documents: FilePart[]): Message[] {
  if (documents.length === 0) return messages
  const last = messages.findLastIndex(
    ({ role, parts }) => role === 'user' && parts.some(({ kind }) => kind !== 'tool-result'),
  )
  if (last < 0) return [{ role: 'user', parts: documents }, ...messages]
  return messages.map((message, index) =>
    index === last ? { ...message, parts: [...documents, ...message.parts] } : message,
  )
}

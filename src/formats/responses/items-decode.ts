import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { flattenToolName, type Message } from '../call/call.ts'
import type { ReasoningPart, ToolResultPart } from '../call/part.ts'
import { unpackReasoning } from '../call/reasoning.ts'
import { decodeReasoningFormat } from '../reasoning-format.ts'
import { createOpaquePart, decodeContent, decodeSource } from './parts-decode.ts'
import { decodeServerToolItem } from './server-tool.ts'

type Part = Message['parts'][number]
type Role = Message['role']

/** A decoded item. Consecutive items with the same role form one message. */
interface DecodedItem {
  role: Role
  parts: Part[]
  /** Never merged with adjacent items. */
  isSeparate?: boolean
}

export function decodeInput(input: unknown): Message[] {
  if (input === undefined || input === null) return []
  if (typeof input === 'string') return [{ role: 'user', parts: [{ kind: 'text', text: input }] }]
  if (!Array.isArray(input)) throw invalidFieldError('input', 'must be a string or an array of items')
  const messages: Message[] = []
  const resolvedCallIds = new Set(
    asObjects(input).flatMap(({ output, call_id }) => (output === undefined ? [] : [call_id])),
  )
  let open: Message | null = null
  input.forEach((item, index) => {
    const { role, parts, isSeparate } = decodeItem(item, `input.${index}`, resolvedCallIds)
    if (open && !isSeparate && open.role === role) open.parts.push(...parts)
    else {
      const message: Message = { role, parts }
      messages.push(message)
      open = isSeparate ? null : message
    }
  })
  return messages
}

function decodeItem(value: unknown, at: string, resolvedCallIds: ReadonlySet<unknown>): DecodedItem {
  const item = asObject(value)
  if (!item) throw invalidFieldError(at, 'must be an object')
  const type = asString(item.type)
  if (type === undefined || type === 'message') return decodeMessage(item, at)
  // A vendor reports its own tool runs as completed calls without an output item.
  const isVendorCall =
    type === 'custom_tool_call' && !resolvedCallIds.has(item.call_id) && item.status === 'completed'
  if (isVendorCall) return { role: 'assistant', parts: [createOpaquePart(item)] }
  const serverTool = decodeServerToolItem(item)
  if (serverTool) return { role: 'assistant', parts: [serverTool] }
  const handler = itemDecoders.get(type)
  if (handler) return handler(item, at)
  return { role: clientItemPattern.test(type) ? 'user' : 'assistant', parts: [createOpaquePart(item)] }
}

/** Types of items that clients send; any other unknown item comes from the model. */
const clientItemPattern = /_(?:output|response)$/

const roles: readonly Role[] = ['user', 'assistant', 'system', 'developer']

function decodeMessage(item: JsonObject, at: string): DecodedItem {
  const role = roles.find((known) => known === item.role)
  if (!role) throw invalidFieldError(`${at}.role`, `must be one of ${roles.join(', ')}`)
  const parts = decodeContent(item.content, `${at}.content`)
  return role === 'assistant' ? { role, parts } : { role, parts, isSeparate: true }
}

/** Message fields that other formats do not have. Ids and statuses belong to the vendor's store. */
export function listUnknownItemFields(item: JsonObject): string[] {
  const isMessage = item.type === undefined || item.type === 'message'
  return isMessage && item.phase !== undefined && item.phase !== null ? ['phase'] : []
}

const itemDecoders = new Map<string, (item: JsonObject, at: string) => DecodedItem>([
  ['function_call', (item, at) => decodeToolCall(item, at, 'arguments')],
  ['custom_tool_call', (item, at) => decodeToolCall(item, at, 'input')],
  ['function_call_output', (item, at) => decodeToolResult(item, at, false)],
  ['custom_tool_call_output', (item, at) => decodeToolResult(item, at, true)],
  ['reasoning', (item) => ({ role: 'assistant', parts: [decodeReasoningItem(item)] })],
  ['image_generation_call', decodeImageItem],
])

function decodeToolCall(item: JsonObject, at: string, field: 'arguments' | 'input'): DecodedItem {
  const name = asString(item.name)
  const id = asString(item.call_id) || asString(item.id)
  if (name === undefined) throw invalidFieldError(`${at}.name`, 'is required')
  if (id === undefined) throw invalidFieldError(`${at}.call_id`, 'is required')
  const namespace = asString(item.namespace)
  const flat = flattenToolName({ kind: 'custom', name, ...(namespace !== undefined && { namespace }) })
  const custom = field === 'input'
  const argumentsText = toText(item[field]) || (custom ? '' : '{}')
  const call = {
    kind: 'tool-call' as const,
    id,
    name: flat,
    ...(namespace && { namespace }),
    arguments: argumentsText,
  }
  return { role: 'assistant', parts: [custom ? { ...call, custom } : call] }
}

function decodeToolResult(item: JsonObject, at: string, custom: boolean): DecodedItem {
  const id = asString(item.call_id)
  if (id === undefined) throw invalidFieldError(`${at}.call_id`, 'is required')
  const result: ToolResultPart = { kind: 'tool-result', id, content: decodeResultContent(item.output, at) }
  if (custom) result.custom = true
  return { role: 'user', parts: [result] }
}

function decodeResultContent(output: unknown, at: string): ToolResultPart['content'] {
  if (!Array.isArray(output)) return [{ kind: 'text', text: toText(output) }]
  return decodeContent(output, `${at}.output`).map((part, index) =>
    part.kind === 'text' || part.kind === 'image' || part.kind === 'file' || part.kind === 'opaque'
      ? part
      : createOpaquePart(asObject(output[index]) ?? {}),
  )
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** A generated image of an earlier turn; without data it is passed as an opaque item. */
function decodeImageItem(item: JsonObject): DecodedItem {
  const image = decodeImage(item)
  return { role: 'assistant', parts: [image ?? createOpaquePart(item)] }
}

export function decodeImage(item: JsonObject): (Part & { kind: 'image' }) | undefined {
  const result = asString(item.result)
  if (result === undefined || result === '') return undefined
  if (/^(?:data:|https?:)/.test(result)) return { kind: 'image', source: decodeSource(result) }
  const mediaType = `image/${asString(item.output_format) ?? 'png'}`
  return { kind: 'image', source: { kind: 'data', mediaType, data: result } }
}

/** Decodes a reasoning item: packed by `packReasoning`, or native. */
export function decodeReasoningItem(item: JsonObject): ReasoningPart {
  const encrypted = asString(item.encrypted_content)
  const packed = encrypted === undefined ? undefined : unpackReasoning(encrypted)
  if (packed) return packed
  const format = decodeReasoningFormat(item.format) ?? 'vendor_b-responses-v1'
  const part: ReasoningPart = {
    kind: 'reasoning',
    text: listTexts(item.content).join(''),
    summary: listTexts(item.summary),
    format,
  }
  const [id, signature] = [asString(item.id), asString(item.signature)]
  if (id !== undefined) part.id = id
  if (signature !== undefined) part.signature = signature
  if (encrypted !== undefined) part.encrypted = encrypted
  return part
}

function listTexts(value: unknown): string[] {
  return asObjects(value).map((entry) => asString(entry.text) ?? '')
}

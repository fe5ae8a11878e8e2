import { flatToolName, type Message } from '../../call/call.ts'
import type { ReasoningPart, ToolResultPart } from '../../call/part.ts'
import { unpackReasoning } from '../../call/reasoning.ts'
import { badField } from '../../errors.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { reasoningFormatOf } from '../reasoning-format.ts'
import { decodeContent, opaque, sourceOf } from './content-decode.ts'

type Part = Message['parts'][number]
type Role = Message['role']

/** Where the parts of an item go. Those of one side that follow each other make one message. */
interface Placed {
  role: Role
  parts: Part[]
  /** A message of its own, never joined with its neighbours. */
  apart?: boolean
}

export function decodeInput(input: unknown): Message[] {
  if (input === undefined || input === null) return []
  if (typeof input === 'string') return [{ role: 'user', parts: [{ kind: 'text', text: input }] }]
  if (!Array.isArray(input)) throw badField('input', 'must be a string or an array of items')
  const messages: Message[] = []
  const answered = new Set(
    objectsOf(input).flatMap(({ output, call_id }) => (output === undefined ? [] : [call_id])),
  )
  let open: Message | null = null
  input.forEach((item, index) => {
    const { role, parts, apart } = placeItem(item, `input.${index}`, answered)
    if (open && !apart && open.role === role) open.parts.push(...parts)
    else {
      const message: Message = { role, parts }
      messages.push(message)
      open = apart ? null : message
    }
  })
  return messages
}

function placeItem(value: unknown, at: string, answered: ReadonlySet<unknown>): Placed {
  const item = objectOf(value)
  if (!item) throw badField(at, 'must be an object')
  const type = textOf(item.type)
  if (type === undefined || type === 'message') return placeMessage(item, at)
  // A vendor tells of tools that it ran by calls which nobody else answers.
  const ranByVendor =
    type === 'custom_tool_call' && !answered.has(item.call_id) && item.status === 'completed'
  if (ranByVendor) return { role: 'assistant', parts: [opaque(item)] }
  const handler = handlers.get(type)
  if (handler) return handler(item, at)
  return { role: givenByClient.test(type) ? 'user' : 'assistant', parts: [opaque(item)] }
}

/** Results and answers to questions; everything else of unknown kind came from the model. */
const givenByClient = /_(?:output|response)$/

const roles: readonly Role[] = ['user', 'assistant', 'system', 'developer']

function placeMessage(item: JsonObject, at: string): Placed {
  const role = roles.find((known) => known === item.role)
  if (!role) throw badField(`${at}.role`, `must be one of ${roles.join(', ')}`)
  const parts = decodeContent(item.content, `${at}.content`)
  return role === 'assistant' ? { role, parts } : { role, parts, apart: true }
}

/** What a message says of itself beside its words; ids and states are the store's own. */
export function unknownItemFields(item: JsonObject): string[] {
  const isMessage = item.type === undefined || item.type === 'message'
  return isMessage && item.phase !== undefined && item.phase !== null ? ['phase'] : []
}

const handlers = new Map<string, (item: JsonObject, at: string) => Placed>([
  ['function_call', (item, at) => placeCall(item, at, 'arguments')],
  ['custom_tool_call', (item, at) => placeCall(item, at, 'input')],
  ['function_call_output', (item, at) => placeOutput(item, at, false)],
  ['custom_tool_call_output', (item, at) => placeOutput(item, at, true)],
  ['reasoning', (item) => ({ role: 'assistant', parts: [decodeReasoning(item)] })],
  ['image_generation_call', placeImage],
])

function placeCall(item: JsonObject, at: string, field: 'arguments' | 'input'): Placed {
  const name = textOf(item.name)
  const id = textOf(item.call_id) ?? textOf(item.id)
  if (name === undefined) throw badField(`${at}.name`, 'is required')
  if (id === undefined) throw badField(`${at}.call_id`, 'is required')
  const namespace = textOf(item.namespace)
  const flat = flatToolName({ kind: 'custom', name, ...(namespace !== undefined && { namespace }) })
  const custom = field === 'input'
  const given = opaqueText(item[field]) || (custom ? '' : '{}')
  const call = { kind: 'tool-call' as const, id, name: flat, arguments: given }
  return { role: 'assistant', parts: [custom ? { ...call, custom } : call] }
}

function placeOutput(item: JsonObject, at: string, custom: boolean): Placed {
  const id = textOf(item.call_id)
  if (id === undefined) throw badField(`${at}.call_id`, 'is required')
  const result: ToolResultPart = { kind: 'tool-result', id, content: decodeOutput(item.output, at) }
  if (custom) result.custom = true
  return { role: 'user', parts: [result] }
}

function decodeOutput(output: unknown, at: string): ToolResultPart['content'] {
  if (!Array.isArray(output)) return [{ kind: 'text', text: opaqueText(output) }]
  return decodeContent(output, `${at}.output`).map((part, index) =>
    part.kind === 'text' || part.kind === 'image' || part.kind === 'file' || part.kind === 'opaque'
      ? part
      : opaque(objectOf(output[index]) ?? {}),
  )
}

function opaqueText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** A picture the model made earlier, for models that go on from it; without its bytes it is only a mention. */
function placeImage(item: JsonObject): Placed {
  const image = imageOf(item)
  return { role: 'assistant', parts: [image ?? opaque(item)] }
}

export function imageOf(item: JsonObject): (Part & { kind: 'image' }) | undefined {
  const result = textOf(item.result)
  if (result === undefined || result === '') return undefined
  if (/^(?:data:|https?:)/.test(result)) return { kind: 'image', source: sourceOf(result) }
  const mediaType = `image/${textOf(item.output_format) ?? 'png'}`
  return { kind: 'image', source: { kind: 'data', mediaType, data: result } }
}

/** Thinking: ours in disguise, or the vendor's own. */
export function decodeReasoning(item: JsonObject): ReasoningPart {
  const encrypted = textOf(item.encrypted_content)
  const packed = encrypted === undefined ? undefined : unpackReasoning(encrypted)
  if (packed) return packed
  const format = reasoningFormatOf(item.format) ?? 'vendor_b-responses-v1'
  const part: ReasoningPart = {
    kind: 'reasoning',
    text: textsOf(item.content).join(''),
    summary: textsOf(item.summary),
    format,
  }
  const [id, signature] = [textOf(item.id), textOf(item.signature)]
  if (id !== undefined) part.id = id
  if (signature !== undefined) part.signature = signature
  if (encrypted !== undefined) part.encrypted = encrypted
  return part
}

function textsOf(value: unknown): string[] {
  return objectsOf(value).map((entry) => textOf(entry.text) ?? '')
}

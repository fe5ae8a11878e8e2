import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type {
  FilePart,
  ImagePart,
  InputPart,
  OpaquePart,
  OutputPart,
  TextPart,
  ToolResultPart,
} from '../call/part.ts'
import { OpenCalls } from '../open-calls.ts'
import { listOf, readField, readObjectField } from './field-names.ts'
import { decodeInlineMedia, decodeLinkedMedia } from './media.ts'
import { createSignaturePart, nativeFormat, unpackForeignReasoning } from './thoughts.ts'

type Part = InputPart | OutputPart

/** Prefix of ids generated for tool calls without one; never sent to an upstream of this format. */
export const generatedIdPrefix = 'gcall_'

interface ToolCallEntry {
  id: string
  name: string
}

/** Matches tool results to the tool calls of a conversation. */
export class ToolCallRegistry {
  readonly #open = new OpenCalls<ToolCallEntry>()
  #count = 0

  add(name: string, vendorId: string | undefined): string {
    const id = vendorId || `${generatedIdPrefix}${this.#count}`
    const keys = [`id ${id}`, `name ${name}`, ...(vendorId ? [] : [`generated ${name}`])]
    this.#open.add({ id, name }, keys)
    this.#count++
    return id
  }

  /** Matches a result to a call by id, otherwise to the first call of that name without a result. */
  matchResult(name: string | undefined, vendorId: string | undefined): string {
    const match = vendorId
      ? (this.#open.first(`id ${vendorId}`) ?? this.#findNamed('generated', name))
      : this.#findNamed('name', name)
    if (match) this.#open.close(match)
    return match ? match.id : vendorId || this.add(name ?? '', undefined)
  }

  #findNamed(kind: 'generated' | 'name', name: string | undefined): ToolCallEntry | undefined {
    return name === undefined ? undefined : this.#open.first(`${kind} ${name}`)
  }
}

interface DecodeContext {
  toolCalls: ToolCallRegistry
  unknown: Set<string>
  path: string
  /** True for model turns: clients store a streamed reply as separate chunks. */
  joinsText: boolean
}

/** Fields of a part that no other format has. */
const unmappedFields = ['videoMetadata', 'mediaResolution', 'partMetadata']

/** Appends the parts of a content to those of a message. */
export function decodeParts(value: unknown, context: DecodeContext, parts: Part[] = []): Part[] {
  listOf(value).forEach((entry, index) => {
    const part = typeof entry === 'string' ? { text: entry } : asObject(entry)
    if (part) decodePart(part, parts, { ...context, path: `${context.path}.${index}` })
  })
  return parts
}

function decodePart(part: JsonObject, parts: Part[], context: DecodeContext): void {
  const signature = asString(readField(part, 'thoughtSignature'))
  const text = asString(part.text)
  if (part.thought === true && text !== undefined) {
    appendThought(text, signature, parts)
    return
  }
  const [name, decode] = partDecoders.find(([known]) => readField(part, known) !== undefined) ?? []
  if (!name || !decode || part.thought === true) {
    if (Object.keys(part).length > 0) parts.push({ kind: 'opaque', wireFormat: 'gemini', value: part })
    return
  }
  const decoded = decode(readField(part, name), context)
  if (signature !== undefined) appendSignature(signature, decoded, parts)
  appendPart(decoded, parts, context.joinsText)
  for (const fieldName of unmappedFields)
    if (readField(part, fieldName) !== undefined) context.unknown.add(fieldName)
}

/** Drops empty text, which the vendor sends to carry a late signature or to end a stream. */
function appendPart(decoded: Part, parts: Part[], joinsText: boolean): void {
  const last = parts.at(-1)
  if (!joinsText || decoded.kind !== 'text') parts.push(decoded)
  else if (last?.kind === 'text') last.text += decoded.text
  else if (decoded.text !== '') parts.push(decoded)
}

/** Joins consecutive thoughts, which are chunks of one streamed thought. */
function appendThought(text: string, signature: string | undefined, parts: Part[]): void {
  const last = parts.at(-1)
  const openThought =
    last?.kind === 'reasoning' && last.format === nativeFormat && last.signature === undefined
      ? last
      : undefined
  const precedingText = (openThought?.text ?? '') + text
  const foreign = signature === undefined ? null : unpackForeignReasoning(signature, precedingText)
  if (openThought) parts.pop()
  if (foreign) {
    if (foreign.rest !== '') parts.push(createReasoningPart(foreign.rest, undefined))
    parts.push(foreign.part)
  } else if (precedingText !== '' || signature !== undefined)
    parts.push(createReasoningPart(precedingText, signature))
}

function createReasoningPart(text: string, signature: string | undefined): OutputPart {
  const base = { kind: 'reasoning' as const, text, summary: [], format: nativeFormat } as const
  return signature === undefined ? { ...base, summary: [] } : { ...base, summary: [], signature }
}

function appendSignature(signature: string, owner: Part, parts: Part[]): void {
  const foreign = unpackForeignReasoning(signature, '')
  parts.push(
    foreign?.part ?? createSignaturePart(signature, owner.kind === 'tool-call' ? owner.id : undefined),
  )
}

type PartDecoder = (value: unknown, context: DecodeContext) => Part

const partDecoders: [string, PartDecoder][] = [
  ['functionCall', decodeToolCall],
  ['functionResponse', decodeToolResult],
  ['inlineData', decodeInlineData],
  ['fileData', decodeFileData],
  ['text', (value) => ({ kind: 'text', text: asString(value) ?? '' })],
]

function decodeToolCall(value: unknown, { toolCalls, path }: DecodeContext): Part {
  const toolCall = asObject(value) ?? {}
  const name = asString(toolCall.name)
  if (!name) throw invalidFieldError(`${path}.functionCall.name`, 'is required')
  const id = toolCalls.add(name, asString(toolCall.id))
  return { kind: 'tool-call', id, name, arguments: JSON.stringify(toolCall.args ?? {}) }
}

function decodeInlineData(value: unknown, { path }: DecodeContext): Part {
  const blob = asObject(value) ?? {}
  const data = asString(blob.data)
  const mediaType = asString(readField(blob, 'mimeType'))
  if (data === undefined) throw invalidFieldError(`${path}.inlineData.data`, 'is required')
  if (!mediaType) throw invalidFieldError(`${path}.inlineData.mimeType`, 'is required')
  const part = decodeInlineMedia(mediaType, data)
  const filename = asString(readField(blob, 'displayName'))
  return part.kind === 'file' && filename ? { ...part, filename } : part
}

function decodeFileData(value: unknown, { path }: DecodeContext): Part {
  const file = asObject(value) ?? {}
  const uri = asString(readField(file, 'fileUri'))
  if (!uri) throw invalidFieldError(`${path}.fileData.fileUri`, 'is required')
  return decodeLinkedMedia(uri, asString(readField(file, 'mimeType')))
}

function decodeToolResult(value: unknown, context: DecodeContext): Part {
  const functionResponse = asObject(value) ?? {}
  const name = asString(functionResponse.name)
  const result: ToolResultPart = {
    kind: 'tool-result',
    id: context.toolCalls.matchResult(name, asString(functionResponse.id)),
    ...decodeResultContent(readObjectField(functionResponse, 'response')),
  }
  if (name) result.name = name
  for (const entry of listOf(functionResponse.parts)) result.content.push(decodeAttachment(entry, context))
  for (const fieldName of ['willContinue', 'scheduling']) {
    if (readField(functionResponse, fieldName) !== undefined)
      context.unknown.add(`functionResponse.${fieldName}`)
  }
  return result
}

/** The text of a result. A single `output`, `result` or `error` field is the vendor's wrapper. */
function decodeResultContent(response: JsonObject | undefined): Pick<ToolResultPart, 'content' | 'isError'> {
  if (!response) return { content: [] }
  const [key, ...others] = Object.keys(response)
  const only = key !== undefined && others.length === 0 ? response[key] : undefined
  if (key === 'error' && only !== undefined) {
    return {
      content: [createTextPart(typeof only === 'string' ? only : JSON.stringify(only))],
      isError: true,
    }
  }
  if ((key === 'output' || key === 'result') && typeof only === 'string')
    return { content: [createTextPart(only)] }
  return { content: [createTextPart(JSON.stringify(response))] }
}

function createTextPart(text: string): TextPart {
  return { kind: 'text', text }
}

function decodeAttachment(
  value: unknown,
  context: DecodeContext,
): TextPart | ImagePart | FilePart | OpaquePart {
  const part = asObject(value) ?? {}
  const inline = readField(part, 'inlineData')
  const file = readField(part, 'fileData')
  if (inline === undefined && file === undefined) return { kind: 'opaque', wireFormat: 'gemini', value: part }
  const decoded = inline === undefined ? decodeFileData(file, context) : decodeInlineData(inline, context)
  return decoded.kind === 'image' || decoded.kind === 'file'
    ? decoded
    : { kind: 'opaque', wireFormat: 'gemini', value: part }
}

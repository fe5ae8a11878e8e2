import {
  type AudioPart,
  type FilePart,
  type ImagePart,
  type InputPart,
  isForeignHandle,
  type OpaquePart,
  type OutputPart,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from '../../call/part.ts'
import { belongsTo } from '../../call/reasoning.ts'
import { type JsonObject, textOf } from '../../lib/loose.ts'
import { sha256 } from '../../lib/secret.ts'
import type { Target } from '../dialect.ts'
import type { Losses } from '../fields.ts'
import { cacheControl } from './cache.ts'
import { writeCitation } from './citation.ts'
import { isRedacted, readableText } from './thinking.ts'
import { inputOf } from './tools.ts'

type Part = InputPart | OutputPart
type Role = 'user' | 'assistant' | 'system'

interface Context {
  target: Target
  losses: Losses
  role: Role
}

type Encoders = {
  [Kind in Part['kind']]: (part: Extract<Part, { kind: Kind }>, context: Context) => JsonObject | undefined
}

const encoders: Encoders = {
  text: encodeText,
  refusal: (part) => (part.text === '' ? undefined : { type: 'text', text: part.text }),
  reasoning: encodeReasoning,
  'tool-call': encodeToolCall,
  'tool-result': encodeToolResult,
  image: encodeImage,
  file: encodeFile,
  audio: encodeAudio,
  video: (_part, { losses }) => losses.add('video'),
  opaque: encodeOpaque,
}

/** The blocks of a message. Parts the format has no block for are named in the losses. */
export function encodeParts(parts: Part[], context: Context): JsonObject[] {
  const blocks: JsonObject[] = []
  for (const part of parts) {
    const encode = encoders[part.kind] as (part: Part, context: Context) => JsonObject | undefined
    const block = encode(part, context)
    if (!block) continue
    if ('cache' in part && part.cache) Object.assign(block, cacheControl(part.cache))
    blocks.push(block)
  }
  return blocks
}

/** The vendor refuses empty text. */
function encodeText(part: TextPart, { losses }: Context): JsonObject | undefined {
  if (part.text === '') return undefined
  const block: JsonObject = { type: 'text', text: part.text }
  const natives = (part.citations ?? []).filter(({ native }) => native?.dialect === 'messages')
  if (natives.length < (part.citations?.length ?? 0)) losses.add('citations')
  if (natives.length > 0) block.citations = natives.map(writeCitation)
  return block
}

/** Thinking goes back only to whom it came from. */
function encodeReasoning(part: ReasoningPart, { target, losses }: Context): JsonObject | undefined {
  const signed = part.signature !== undefined || part.encrypted !== undefined
  // Nobody checks what nobody signed: such text is taken where the vendor signs nothing.
  const fits = belongsTo(part, target.signatures) && (signed || part.format === 'unknown')
  if (!fits) return losses.add(signed ? 'reasoning_signature' : 'reasoning')
  if (isRedacted(part)) return { type: 'redacted_thinking', data: part.encrypted }
  return { type: 'thinking', thinking: readableText(part), signature: part.signature ?? '' }
}

function encodeToolCall(part: ToolCallPart): JsonObject {
  return {
    type: 'tool_use',
    id: safeId(part.id),
    name: part.name,
    input: inputOf(part.arguments, part.custom),
  }
}

function encodeToolResult(part: ToolResultPart, context: Context): JsonObject {
  const blocks = encodeParts(part.content, { ...context, role: 'user' })
  const [first, ...others] = blocks
  const plain = first?.type === 'text' && others.length === 0 && Object.keys(first).length === 2
  return {
    type: 'tool_result',
    tool_use_id: safeId(part.id),
    ...(blocks.length > 0 && { content: plain ? first.text : blocks }),
    ...(part.isError !== undefined && { is_error: part.isError }),
  }
}

const plainId = /^[a-zA-Z0-9_-]+$/

/** The vendor takes no other letters in ids; the same id always becomes the same. */
function safeId(id: string): string {
  return plainId.test(id) ? id : `${id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}_${sha256(id).slice(0, 8)}`
}

function encodeImage(part: ImagePart, { losses, role }: Context): JsonObject | undefined {
  const source = role === 'user' ? imageSource(part) : undefined
  if (!source) return losses.add('image')
  if (part.detail !== undefined && part.detail !== 'auto') losses.add('image_detail')
  return { type: 'image', source }
}

function imageSource({ source }: ImagePart): JsonObject | undefined {
  if (source.kind === 'data') return { type: 'base64', media_type: source.mediaType, data: source.data }
  if (isForeignHandle(source)) return undefined
  if (source.kind === 'file') return { type: 'file', file_id: source.id }
  if (source.kind === 'text') return undefined
  return dataUrl(source.url) ?? { type: 'url', url: source.url }
}

function dataUrl(url: string): JsonObject | undefined {
  const comma = url.indexOf(';base64,')
  if (!url.startsWith('data:') || comma < 0) return undefined
  return { type: 'base64', media_type: url.slice('data:'.length, comma), data: url.slice(comma + 8) }
}

function encodeFile(part: FilePart, { losses, role }: Context): JsonObject | undefined {
  const source = role === 'user' ? fileSource(part) : undefined
  if (!source) return losses.add('file')
  if (textOf(source.media_type)?.startsWith('image/')) return { type: 'image', source }
  return {
    type: 'document',
    source,
    ...(part.filename !== undefined && { title: part.filename }),
    ...(part.context !== undefined && { context: part.context }),
    ...(part.cite !== undefined && { citations: { enabled: part.cite } }),
  }
}

/** Undefined for bytes that are neither a PDF, nor a picture, nor text, and for what another vendor holds. */
function fileSource({ source }: FilePart): JsonObject | undefined {
  if (isForeignHandle(source)) return undefined
  if (source.kind === 'file') return { type: 'file', file_id: source.id }
  if (source.kind === 'text') return plainText(source.text)
  if (source.kind === 'url') {
    const given = dataUrl(source.url)
    return given
      ? bytesSource(String(given.media_type), String(given.data))
      : { type: 'url', url: source.url }
  }
  return bytesSource(source.mediaType, source.data)
}

function bytesSource(mediaType: string, data: string): JsonObject | undefined {
  if (mediaType.startsWith('text/') || mediaType.startsWith('application/json')) {
    return plainText(Buffer.from(data, 'base64').toString())
  }
  const readable = mediaType === 'application/pdf' || mediaType.startsWith('image/')
  return readable ? { type: 'base64', media_type: mediaType, data } : undefined
}

function plainText(data: string): JsonObject {
  return { type: 'text', media_type: 'text/plain', data }
}

/** What was said is kept, how it sounded is not. */
function encodeAudio(part: AudioPart, { losses }: Context): JsonObject | undefined {
  losses.add('audio')
  return part.transcript ? { type: 'text', text: part.transcript } : undefined
}

function encodeOpaque(part: OpaquePart, { losses }: Context): JsonObject | undefined {
  const type = textOf(part.value.type) ?? part.dialect
  if (part.dialect === 'messages' && !isOwnBlock(type)) return { ...part.value }
  return losses.add(`block:${type}`)
}

/** Results of tools that ran in the gateway: no vendor knows them. */
export function isOwnBlock(type: string): boolean {
  return type.startsWith('service_')
}

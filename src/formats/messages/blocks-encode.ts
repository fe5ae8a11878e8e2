import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import {
  type AudioPart,
  type FilePart,
  type ImagePart,
  type InputPart,
  isVendorFileUri,
  type OpaquePart,
  type OutputPart,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from '../call/part.ts'
import { canReplayReasoning } from '../call/reasoning.ts'
import type { Losses } from '../fields.ts'
import { sanitizeToolId } from '../tool-ids.ts'
import type { Target } from '../wire-format.ts'
import { encodeCacheControl } from './cache-control.ts'
import { encodeCitation } from './citation.ts'
import { isRedacted, readableTextOf } from './thinking.ts'
import { parseToolArguments } from './tool-arguments.ts'

type Part = InputPart | OutputPart
type Role = 'user' | 'assistant' | 'system'

interface EncodeContext {
  target: Target
  losses: Losses
  role: Role
}

type PartEncoders = {
  [Kind in Part['kind']]: (
    part: Extract<Part, { kind: Kind }>,
    context: EncodeContext,
  ) => JsonObject | undefined
}

const encoders: PartEncoders = {
  text: encodeText,
  refusal: (part) => (part.text === '' ? undefined : { type: 'text', text: part.text }),
  reasoning: encodeReasoning,
  'tool-call': encodeToolCall,
  'tool-result': encodeToolResult,
  image: encodeImage,
  file: encodeFile,
  audio: encodeAudio,
  video: (_part, { losses }) => losses.add('video'),
  'server-tool': () => undefined,
  opaque: encodeOpaque,
}

/** The blocks of a message. Parts that the format has no block for are reported as losses. */
export function encodeParts(parts: Part[], context: EncodeContext): JsonObject[] {
  const blocks: JsonObject[] = []
  for (const part of parts) {
    const encode = encoders[part.kind] as (part: Part, context: EncodeContext) => JsonObject | undefined
    const block = encode(part, context)
    if (!block) continue
    if ('cache' in part && part.cache) Object.assign(block, encodeCacheControl(part.cache))
    blocks.push(block)
  }
  return blocks
}

/** The vendor rejects empty text. */
function encodeText(part: TextPart, { losses }: EncodeContext): JsonObject | undefined {
  if (part.text === '') return undefined
  const block: JsonObject = { type: 'text', text: part.text }
  const nativeCitations = (part.citations ?? []).filter(({ native }) => native?.wireFormat === 'messages')
  if (nativeCitations.length < (part.citations?.length ?? 0)) losses.add('citations')
  if (nativeCitations.length > 0) block.citations = nativeCitations.map(encodeCitation)
  return block
}

/** Reasoning is sent back only to the vendor that produced it. */
function encodeReasoning(part: ReasoningPart, { target, losses }: EncodeContext): JsonObject | undefined {
  const isSigned = part.signature !== undefined || part.encrypted !== undefined
  // Unsigned reasoning is accepted only by vendors that do not sign it.
  const isAccepted =
    canReplayReasoning(part, target.signatureFormat) && (isSigned || part.format === 'unknown')
  if (!isAccepted) return losses.add(isSigned ? 'reasoning_signature' : 'reasoning')
  if (isRedacted(part)) return { type: 'redacted_thinking', data: part.encrypted }
  return { type: 'thinking', thinking: readableTextOf(part), signature: part.signature ?? '' }
}

function encodeToolCall(part: ToolCallPart): JsonObject {
  return {
    type: 'tool_use',
    id: sanitizeToolId(part.id),
    name: part.name,
    input: parseToolArguments(part.arguments, part.custom),
  }
}

function encodeToolResult(part: ToolResultPart, context: EncodeContext): JsonObject {
  const blocks = encodeParts(part.content, { ...context, role: 'user' })
  const [first, ...others] = blocks
  const isPlainText = first?.type === 'text' && others.length === 0 && Object.keys(first).length === 2
  return {
    type: 'tool_result',
    tool_use_id: sanitizeToolId(part.id),
    ...(blocks.length > 0 && { content: isPlainText ? first.text : blocks }),
    ...(part.isError !== undefined && { is_error: part.isError }),
  }
}

function encodeImage(part: ImagePart, { losses, role }: EncodeContext): JsonObject | undefined {
  const source = role === 'user' ? encodeImageSource(part) : undefined
  if (!source) return losses.add('image')
  if (part.detail !== undefined && part.detail !== 'auto') losses.add('image_detail')
  return { type: 'image', source }
}

function encodeImageSource({ source }: ImagePart): JsonObject | undefined {
  if (source.kind === 'data') return { type: 'base64', media_type: source.mediaType, data: source.data }
  if (isVendorFileUri(source)) return undefined
  if (source.kind === 'file') return { type: 'file', file_id: source.id }
  if (source.kind === 'text') return undefined
  return parseDataUrl(source.url) ?? { type: 'url', url: source.url }
}

function parseDataUrl(url: string): JsonObject | undefined {
  const comma = url.indexOf(';base64,')
  if (!url.startsWith('data:') || comma < 0) return undefined
  return { type: 'base64', media_type: url.slice('data:'.length, comma), data: url.slice(comma + 8) }
}

function encodeFile(part: FilePart, { losses, role }: EncodeContext): JsonObject | undefined {
  const source = role === 'user' ? encodeFileSource(part) : undefined
  if (!source) return losses.add('file')
  if (asString(source.media_type)?.startsWith('image/')) return { type: 'image', source }
  return {
    type: 'document',
    source,
    ...(part.filename !== undefined && { title: part.filename }),
    ...(part.context !== undefined && { context: part.context }),
    ...(part.citationsEnabled !== undefined && { citations: { enabled: part.citationsEnabled } }),
  }
}

/** Undefined for data that is not a PDF, an image or text, and for files stored at another vendor. */
function encodeFileSource({ source }: FilePart): JsonObject | undefined {
  if (isVendorFileUri(source)) return undefined
  if (source.kind === 'file') return { type: 'file', file_id: source.id }
  if (source.kind === 'text') return encodeTextSource(source.text)
  if (source.kind === 'url') {
    const inlineSource = parseDataUrl(source.url)
    return inlineSource
      ? encodeDataSource(String(inlineSource.media_type), String(inlineSource.data))
      : { type: 'url', url: source.url }
  }
  return encodeDataSource(source.mediaType, source.data)
}

function encodeDataSource(mediaType: string, data: string): JsonObject | undefined {
  if (mediaType.startsWith('text/') || mediaType.startsWith('application/json')) {
    return encodeTextSource(Buffer.from(data, 'base64').toString())
  }
  const isReadable = mediaType === 'application/pdf' || mediaType.startsWith('image/')
  return isReadable ? { type: 'base64', media_type: mediaType, data } : undefined
}

function encodeTextSource(data: string): JsonObject {
  return { type: 'text', media_type: 'text/plain', data }
}

/** The transcript is sent as text; the audio is lost. */
function encodeAudio(part: AudioPart, { losses }: EncodeContext): JsonObject | undefined {
  losses.add('audio')
  return part.transcript ? { type: 'text', text: part.transcript } : undefined
}

function encodeOpaque(part: OpaquePart, { losses }: EncodeContext): JsonObject | undefined {
  const type = asString(part.value.type) ?? part.wireFormat
  if (part.wireFormat === 'messages' && !isGatewayBlock(type)) return { ...part.value }
  return losses.add(`block:${type}`)
}

/** Results of tools that ran in the gateway, which upstreams do not accept. */
export function isGatewayBlock(type: string): boolean {
  return type.startsWith('service_')
}

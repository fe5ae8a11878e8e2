import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { Message } from '../call/call.ts'
import type {
  AudioPart,
  FilePart,
  ImagePart,
  InputPart,
  MediaSource,
  OpaquePart,
  OutputPart,
  ReasoningPart,
  TextPart,
  ToolResultPart,
  VideoPart,
} from '../call/part.ts'
import { canReplayReasoning } from '../call/reasoning.ts'
import type { Losses } from '../fields.ts'
import { isRedacted, readableTextOf } from '../messages/thinking.ts'
import { parseToolArguments } from '../messages/tool-arguments.ts'
import { sanitizeToolId } from '../tool-ids.ts'
import type { Target } from '../wire-format.ts'
import { encodeCachePoint } from './cache-point.ts'

type Part = InputPart | OutputPart

/** Stands where the vendor requires a text, and the caller wrote none. */
export const absentText = '(no text)'

interface EncodeContext {
  target: Target
  losses: Losses
  names: DocumentNames
  role: Message['role']
}

type PartEncoders = {
  [Kind in Part['kind']]: (
    part: Extract<Part, { kind: Kind }>,
    context: EncodeContext,
  ) => JsonObject | undefined
}

const encoders: PartEncoders = {
  text: encodeText,
  refusal: ({ text }) => encodeWords(text),
  reasoning: encodeReasoning,
  'tool-call': ({ id, name, arguments: text, custom }) => ({
    toolUse: { toolUseId: sanitizeToolId(id), name, input: parseToolArguments(text, custom) },
  }),
  'tool-result': encodeToolResult,
  image: encodeImage,
  file: encodeFile,
  audio: encodeAudio,
  video: encodeVideo,
  'server-tool': () => undefined,
  opaque: ({ value, wireFormat }: OpaquePart, { losses }) =>
    losses.add(`block:${typeof value.type === 'string' ? value.type : wireFormat}`),
}

/** The blocks of a message, each followed by the cache point that it carries. Other parts are reported as losses. */
export function encodeParts(parts: readonly Part[], context: EncodeContext): JsonObject[] {
  return parts.flatMap((part) => {
    const encode = encoders[part.kind] as (part: Part, context: EncodeContext) => JsonObject | undefined
    const block = encode(part, context)
    if (!block) return []
    return 'cache' in part && part.cache ? [block, { cachePoint: encodeCachePoint(part.cache) }] : [block]
  })
}

/** The vendor rejects text without a visible character. */
function encodeWords(text: string): JsonObject | undefined {
  return text.trim() === '' ? undefined : { text }
}

function encodeText({ text, citations }: TextPart, { losses }: EncodeContext): JsonObject | undefined {
  if (citations && citations.length > 0) losses.add('citations')
  return encodeWords(text)
}

/** Reasoning is sent back only to the vendor that produced it. */
function encodeReasoning(part: ReasoningPart, { target, losses }: EncodeContext): JsonObject | undefined {
  const isSigned = part.signature !== undefined || part.encrypted !== undefined
  if (!isSigned || !canReplayReasoning(part, target.signatureFormat))
    return losses.add(isSigned ? 'reasoning_signature' : 'reasoning')
  if (isRedacted(part)) return { reasoningContent: { redactedContent: part.encrypted } }
  return {
    reasoningContent: { reasoningText: { text: readableTextOf(part), signature: part.signature ?? '' } },
  }
}

function encodeToolResult(part: ToolResultPart, context: EncodeContext): JsonObject {
  const content = encodeParts(part.content, { ...context, role: 'user' })
  return {
    toolResult: omitUndefined({
      toolUseId: sanitizeToolId(part.id),
      // The vendor rejects an empty list.
      content:
        content.length > 0
          ? content.filter(({ cachePoint }) => cachePoint === undefined)
          : [{ text: absentText }],
      status: part.isError ? 'error' : undefined,
    }),
  }
}

interface Media {
  mediaType: string
  bytes: string
}

/** The vendor takes bytes, and fetches no addresses but those of its own storage. */
function readMedia(source: MediaSource): Media | undefined {
  if (source.kind === 'data') return { mediaType: source.mediaType, bytes: source.data }
  if (source.kind === 'text')
    return { mediaType: 'text/plain', bytes: Buffer.from(source.text).toString('base64') }
  if (source.kind === 'file') return undefined
  const [, mediaType, bytes] = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(source.url) ?? []
  return mediaType === undefined || bytes === undefined ? undefined : { mediaType, bytes }
}

const imageFormats = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/jpg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
])

function encodeImage({ source, detail }: ImagePart, { losses, role }: EncodeContext): JsonObject | undefined {
  const media = readMedia(source)
  const format = imageFormats.get(media?.mediaType ?? '')
  if (!media || !format || role !== 'user') return losses.add('image')
  if (detail !== undefined && detail !== 'auto') losses.add('image_detail')
  return { image: { format, source: { bytes: media.bytes } } }
}

const videoFormats = new Map([
  ['video/mp4', 'mp4'],
  ['video/quicktime', 'mov'],
  ['video/x-matroska', 'mkv'],
  ['video/webm', 'webm'],
  ['video/x-flv', 'flv'],
  ['video/mpeg', 'mpeg'],
  ['video/x-ms-wmv', 'wmv'],
  ['video/3gpp', 'three_gp'],
])

function encodeVideo({ source }: VideoPart, { losses, role }: EncodeContext): JsonObject | undefined {
  if (source.kind === 'file' && source.id.startsWith('s3://') && role === 'user')
    return { video: { format: 'mp4', source: { s3Location: { uri: source.id } } } }
  const media = readMedia(source)
  const format = videoFormats.get(media?.mediaType ?? '')
  if (!media || !format || role !== 'user') return losses.add('video')
  return { video: { format, source: { bytes: media.bytes } } }
}

const documentFormats = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
])

function encodeFile(part: FilePart, context: EncodeContext): JsonObject | undefined {
  const { losses, names, role } = context
  const media = readMedia(part.source)
  if (media?.mediaType.startsWith('image/'))
    return encodeImage({ kind: 'image', source: part.source }, context)
  const isText = media?.mediaType.startsWith('text/') || media?.mediaType === 'application/json'
  const format = documentFormats.get(media?.mediaType ?? '') ?? (isText ? 'txt' : undefined)
  if (!media || !format || role !== 'user') return losses.add('file')
  return {
    document: omitUndefined({
      format,
      name: names.take(part.filename ?? part.fallbackName),
      source: { bytes: media.bytes },
      context: part.context,
      citations: part.citationsEnabled ? { enabled: true } : undefined,
    }),
  }
}

const maxNameLength = 200

/** Names of documents: of few characters, and each once in a conversation. */
export class DocumentNames {
  readonly #taken = new Set<string>()

  take(name = ''): string {
    const plain = name
      .replace(/\.[^.]*$/, '')
      .replaceAll(/[^a-zA-Z0-9 ()[\]-]+/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
      .slice(0, maxNameLength)
    const base = plain || 'document'
    let unique = base
    for (let count = 2; this.#taken.has(unique); count++) unique = `${base} ${count}`
    this.#taken.add(unique)
    return unique
  }
}

/** The transcript is sent as text; the audio is lost. */
function encodeAudio({ transcript }: AudioPart, { losses }: EncodeContext): JsonObject | undefined {
  losses.add('audio')
  return encodeWords(transcript ?? '')
}

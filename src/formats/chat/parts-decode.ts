import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  firstFilled,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import {
  type CacheBreakpoint,
  type Citation,
  type InputPart,
  type MediaSource,
  type OutputPart,
  type ReasoningPart,
  sourceFromUrl,
  type TextPart,
} from '../call/part.ts'

type Part = InputPart | OutputPart
type PartDecoder = (part: JsonObject, at: string) => Part

/** Decoders of content parts by type. Any other type passes unmodified to upstreams of this format. */
const partDecoders: Record<string, PartDecoder> = {
  text: decodeText,
  input_text: decodeText,
  output_text: decodeText,
  refusal: (part) => ({ kind: 'refusal', text: asString(part.refusal) ?? '' }),
  image_url: decodeImage,
  input_image: decodeImage,
  input_audio: decodeAudio,
  video_url: decodeVideo,
  input_video: decodeVideo,
  file: (part, at) => decodeFile(asObject(part.file) ?? {}, part, `${at}.file`),
  input_file: (part, at) => decodeFile(part, part, at),
  thinking: decodeThinking,
}

/** The content of a message as parts. `at` is the path for error messages. */
export function decodeContent(content: unknown, at: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }]
  if (content === null || content === undefined) return []
  if (!Array.isArray(content)) throw invalidFieldError(at, 'must be a string or an array of parts')
  return content.map((item, index) => decodePart(item, `${at}[${index}]`))
}

function decodePart(item: unknown, at: string): Part {
  if (typeof item === 'string') return { kind: 'text', text: item }
  const part = asObject(item)
  const type = asString(part?.type)
  if (!part || type === undefined) throw invalidFieldError(at, 'must be a part with a type')
  const decode = Object.hasOwn(partDecoders, type) ? partDecoders[type] : undefined
  return decode ? decode(part, at) : { kind: 'opaque', wireFormat: 'chat', value: part }
}

function decodeText(part: JsonObject, at: string): TextPart {
  const text = asString(part.text)
  if (text === undefined) throw invalidFieldError(`${at}.text`, 'must be a string')
  const cache = decodeCacheControl(part)
  return { kind: 'text', text, ...(cache && { cache }) }
}

/** `cache_control`, or `prompt_cache_breakpoint`, another vendor's field with the same meaning. */
export function decodeCacheControl(part: JsonObject): CacheBreakpoint | undefined {
  const control = asObject(part.cache_control)
  if (!control) return asObject(part.prompt_cache_breakpoint) ? {} : undefined
  return control.ttl === '5m' || control.ttl === '1h' ? { ttl: control.ttl } : {}
}

function decodeImage(part: JsonObject, at: string): Part {
  const image = asObject(part.image_url)
  const fileId = asString(part.file_id)
  const url = asString(part.image_url) ?? asString(image?.url)
  if (url === undefined && fileId === undefined) throw invalidFieldError(`${at}.image_url`, 'must have a url')
  const detail = asString(image?.detail) ?? asString(part.detail)
  const cache = decodeCacheControl(part)
  const source: MediaSource = url === undefined ? { kind: 'file', id: fileId ?? '' } : decodeSource(url)
  return { kind: 'image', source, ...(detail !== undefined && { detail }), ...(cache && { cache }) }
}

function decodeAudio(part: JsonObject, at: string): Part {
  const audio = asObject(part.input_audio)
  const [data, format] = [asString(audio?.data) ?? asString(part.input_audio), asString(audio?.format) ?? '']
  if (data === undefined) throw invalidFieldError(`${at}.input_audio.data`, 'must be base64 text')
  return { kind: 'audio', data, format }
}

function decodeVideo(part: JsonObject, at: string): Part {
  const url = asString(asObject(part.video_url)?.url) ?? asString(part.video_url)
  if (url === undefined) throw invalidFieldError(`${at}.video_url`, 'must have a url')
  return { kind: 'video', source: decodeSource(url) }
}

function decodeFile(file: JsonObject, part: JsonObject, at: string): Part {
  const filename = asString(file.filename)
  const cache = decodeCacheControl(part)
  const extras = { ...(filename !== undefined && { filename }), ...(cache && { cache }) }
  const source = decodeFileSource(file)
  if (!source) throw invalidFieldError(at, 'must have file_data, file_id or file_url')
  return { kind: 'file', source, ...extras }
}

function decodeFileSource(file: JsonObject): MediaSource | undefined {
  const [data, id, url] = [asString(file.file_data), asString(file.file_id), asString(file.file_url)]
  if (data !== undefined) {
    const known = decodeSource(data)
    if (known.kind === 'data' || /^https?:/i.test(data)) return known
    return { kind: 'data', mediaType: guessMediaType(asString(file.filename)), data }
  }
  if (id !== undefined) return { kind: 'file', id }
  return url === undefined ? undefined : decodeSource(url)
}

/** Bare base64 has no media type; documents are almost always PDF. */
function guessMediaType(filename: string | undefined): string {
  return filename?.toLowerCase().endsWith('.txt') ? 'text/plain' : 'application/pdf'
}

/** One vendor's thinking within the content: an array of text chunks. */
function decodeThinking(part: JsonObject): ReasoningPart {
  return { kind: 'reasoning', text: joinThinkingText(part.thinking), summary: [], format: 'unknown' }
}

export function joinThinkingText(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking
  return asObjects(thinking)
    .map((chunk) => asString(chunk.text) ?? '')
    .join('')
}

/** Splits a data URL; any other URL stays as it is. */
export function decodeSource(url: string): MediaSource {
  if (!/^data:/i.test(url)) return sourceFromUrl(url)
  const comma = url.indexOf(',')
  const head = url.slice('data:'.length, comma === -1 ? undefined : comma)
  if (comma === -1 || !/;base64$/i.test(head)) return { kind: 'url', url }
  return { kind: 'data', mediaType: head.slice(0, -';base64'.length), data: url.slice(comma + 1) }
}

export function urlOf(source: MediaSource): string | undefined {
  if (source.kind === 'url') return source.url
  return source.kind === 'data' ? `data:${source.mediaType};base64,${source.data}` : undefined
}

/** Prefix of the URL of a citation of a file. */
export const fileUrnPrefix = 'urn:file:'

function decodeFileUrn(url: string, { title }: JsonObject): Citation {
  const text = decodeUriText(url.slice(fileUrnPrefix.length))
  const name = asString(title) || undefined
  return { file: text === name ? { name } : { id: text, ...(name !== undefined && { name }) } }
}

function decodeUriText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Decodes an annotation; one without a URL keeps its native form. */
export function decodeAnnotation(annotation: JsonObject): Citation {
  const urlCitation = asObject(annotation.url_citation)
  const url = asString(urlCitation?.url)
  if (!urlCitation || url === undefined) return decodeFileCitation(annotation)
  const citation: Citation = url.startsWith(fileUrnPrefix) ? decodeFileUrn(url, urlCitation) : { url }
  const [title, content] = [asString(urlCitation.title), asString(urlCitation.content)]
  const [start, end] = [asNumber(urlCitation.start_index), asNumber(urlCitation.end_index)]
  if (title) citation.title = title
  if (content !== undefined) citation.citedText = content
  // The indexes are required: a citation of the whole text has an empty range.
  if (start === 0 && end === 0) return citation
  if (start !== undefined) citation.start = start
  if (end !== undefined) citation.end = end
  return citation
}

/** A file is cited in two forms: `file` by this API, `file_citation` by one vendor. */
function decodeFileCitation(annotation: JsonObject): Citation {
  const native = { wireFormat: 'chat' as const, value: annotation }
  const file = asObject(firstFilled(annotation.file, annotation.file_citation))
  const id = asString(firstFilled(file?.file_id, file?.hash))
  const name = asString(firstFilled(file?.filename, file?.name))
  if (id === undefined && name === undefined) return { native }
  const title = name === undefined ? {} : { title: name }
  return { ...title, file: { ...(id !== undefined && { id }), ...(name !== undefined && { name }) }, native }
}

import {
  type CacheMark,
  type Citation,
  type InputPart,
  linkedSource,
  type OutputPart,
  type ReasoningPart,
  type Source,
  type TextPart,
} from '../../call/part.ts'
import { badField } from '../../errors.ts'
import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'

type Part = InputPart | OutputPart
type Decoder = (part: JsonObject, at: string) => Part

/** Content parts by their type. A type that is not here passes as it is, for upstreams of this format. */
const decoders: Record<string, Decoder> = {
  text: decodeText,
  input_text: decodeText,
  output_text: decodeText,
  refusal: (part) => ({ kind: 'refusal', text: textOf(part.refusal) ?? '' }),
  image_url: decodeImage,
  input_image: decodeImage,
  input_audio: decodeAudio,
  video_url: decodeVideo,
  input_video: decodeVideo,
  file: (part, at) => decodeFile(objectOf(part.file) ?? {}, part, `${at}.file`),
  input_file: (part, at) => decodeFile(part, part, at),
  thinking: decodeThinking,
}

/** The content of a message, as parts. `at` names the place in errors. */
export function decodeContent(content: unknown, at: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }]
  if (content === null || content === undefined) return []
  if (!Array.isArray(content)) throw badField(at, 'must be a string or an array of parts')
  return content.map((item, index) => decodePart(item, `${at}[${index}]`))
}

function decodePart(item: unknown, at: string): Part {
  if (typeof item === 'string') return { kind: 'text', text: item }
  const part = objectOf(item)
  const type = textOf(part?.type)
  if (!part || type === undefined) throw badField(at, 'must be a part with a type')
  const decode = Object.hasOwn(decoders, type) ? decoders[type] : undefined
  return decode ? decode(part, at) : { kind: 'opaque', dialect: 'chat', value: part }
}

function decodeText(part: JsonObject, at: string): TextPart {
  const text = textOf(part.text)
  if (text === undefined) throw badField(`${at}.text`, 'must be a string')
  const cache = cacheOf(part)
  return { kind: 'text', text, ...(cache && { cache }) }
}

/** `cache_control`, or the other vendor's word for the same wish. */
export function cacheOf(part: JsonObject): CacheMark | undefined {
  const control = objectOf(part.cache_control)
  if (!control) return objectOf(part.prompt_cache_breakpoint) ? {} : undefined
  return control.ttl === '5m' || control.ttl === '1h' ? { ttl: control.ttl } : {}
}

function decodeImage(part: JsonObject, at: string): Part {
  const image = objectOf(part.image_url)
  const fileId = textOf(part.file_id)
  const url = textOf(part.image_url) ?? textOf(image?.url)
  if (url === undefined && fileId === undefined) throw badField(`${at}.image_url`, 'must have a url')
  const detail = textOf(image?.detail) ?? textOf(part.detail)
  const cache = cacheOf(part)
  const source: Source = url === undefined ? { kind: 'file', id: fileId ?? '' } : sourceOf(url)
  return { kind: 'image', source, ...(detail !== undefined && { detail }), ...(cache && { cache }) }
}

function decodeAudio(part: JsonObject, at: string): Part {
  const audio = objectOf(part.input_audio)
  const [data, format] = [textOf(audio?.data) ?? textOf(part.input_audio), textOf(audio?.format) ?? '']
  if (data === undefined) throw badField(`${at}.input_audio.data`, 'must be base64 text')
  return { kind: 'audio', data, format }
}

function decodeVideo(part: JsonObject, at: string): Part {
  const url = textOf(objectOf(part.video_url)?.url) ?? textOf(part.video_url)
  if (url === undefined) throw badField(`${at}.video_url`, 'must have a url')
  return { kind: 'video', source: sourceOf(url) }
}

function decodeFile(file: JsonObject, part: JsonObject, at: string): Part {
  const filename = textOf(file.filename)
  const cache = cacheOf(part)
  const extras = { ...(filename !== undefined && { filename }), ...(cache && { cache }) }
  const source = fileSource(file)
  if (!source) throw badField(at, 'must have file_data, file_id or file_url')
  return { kind: 'file', source, ...extras }
}

function fileSource(file: JsonObject): Source | undefined {
  const [data, id, url] = [textOf(file.file_data), textOf(file.file_id), textOf(file.file_url)]
  if (data !== undefined) {
    const known = sourceOf(data)
    if (known.kind === 'data' || /^https?:/i.test(data)) return known
    return { kind: 'data', mediaType: mediaTypeOf(textOf(file.filename)), data }
  }
  if (id !== undefined) return { kind: 'file', id }
  return url === undefined ? undefined : sourceOf(url)
}

/** Bare base64 says nothing of its type; documents are almost always PDF. */
function mediaTypeOf(filename: string | undefined): string {
  return filename?.toLowerCase().endsWith('.txt') ? 'text/plain' : 'application/pdf'
}

/** Thinking as one vendor has it among the content: a list of text chunks. */
function decodeThinking(part: JsonObject): ReasoningPart {
  return { kind: 'reasoning', text: thinkingText(part.thinking), summary: [], format: 'unknown' }
}

export function thinkingText(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking
  return objectsOf(thinking)
    .map((chunk) => textOf(chunk.text) ?? '')
    .join('')
}

/** A data URL taken apart, or the address as it is. */
export function sourceOf(url: string): Source {
  if (!url.startsWith('data:')) return linkedSource(url)
  const comma = url.indexOf(',')
  const head = url.slice('data:'.length, comma === -1 ? undefined : comma)
  if (comma === -1 || !head.endsWith(';base64')) return { kind: 'url', url }
  return { kind: 'data', mediaType: head.slice(0, -';base64'.length), data: url.slice(comma + 1) }
}

export function urlOf(source: Source): string | undefined {
  if (source.kind === 'url') return source.url
  return source.kind === 'data' ? `data:${source.mediaType};base64,${source.data}` : undefined
}

/** An annotation as a citation; one that is no web address keeps its own form. */
export function decodeAnnotation(annotation: JsonObject): Citation {
  const cited = objectOf(annotation.url_citation)
  const url = textOf(cited?.url)
  if (!cited || url === undefined) return fileCitation(annotation)
  const citation: Citation = { url }
  const [title, content] = [textOf(cited.title), textOf(cited.content)]
  const [start, end] = [numberOf(cited.start_index), numberOf(cited.end_index)]
  if (title) citation.title = title
  if (content !== undefined) citation.cited = content
  if (start !== undefined) citation.start = start
  if (end !== undefined) citation.end = end
  return citation
}

/** Files are named in two ways: as this API parsed them, and as one vendor cites them. */
function fileCitation(annotation: JsonObject): Citation {
  const native = { dialect: 'chat' as const, value: annotation }
  const file = objectOf(annotation.file) ?? objectOf(annotation.file_citation)
  const id = textOf(file?.file_id) ?? textOf(file?.hash)
  const name = textOf(file?.filename) ?? textOf(file?.name)
  if (id === undefined && name === undefined) return { native }
  const title = name === undefined ? {} : { title: name }
  return { ...title, file: { ...(id !== undefined && { id }), ...(name !== undefined && { name }) }, native }
}

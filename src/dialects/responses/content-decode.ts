import {
  type CacheMark,
  type FilePart,
  type ImagePart,
  type InputPart,
  linkedSource,
  type OpaquePart,
  type OutputPart,
  type Source,
  type TextPart,
} from '../../call/part.ts'
import { badField } from '../../errors.ts'
import { type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import { decodeAnnotations } from './annotations.ts'

type Part = InputPart | OutputPart

/** The content of a message: a string, null, or parts. `at` names it in errors. */
export function decodeContent(value: unknown, at: string): Part[] {
  if (value === null || value === undefined) return []
  if (typeof value === 'string') return [{ kind: 'text', text: value }]
  if (!Array.isArray(value)) throw badField(at, 'must be a string or an array')
  return value.map((entry, index) => decodePart(entry, `${at}.${index}`))
}

function decodePart(value: unknown, at: string): Part {
  if (typeof value === 'string') return { kind: 'text', text: value }
  const entry = objectOf(value)
  if (!entry) throw badField(at, 'must be an object')
  const type = textOf(entry.type)
  if (type === undefined) throw badField(`${at}.type`, 'is required')
  return handlers.get(type)?.(entry, at) ?? opaque(entry)
}

export function opaque(value: JsonObject): OpaquePart {
  return { kind: 'opaque', dialect: 'responses', value }
}

const handlers = new Map<string, (entry: JsonObject, at: string) => Part>([
  ['input_text', decodeText],
  ['output_text', decodeText],
  ['text', decodeText],
  ['refusal', (entry) => ({ kind: 'refusal', text: textOf(entry.refusal) ?? '' })],
  ['input_image', decodeImage],
  ['input_file', decodeFile],
  ['input_audio', decodeAudio],
  ['input_video', decodeVideo],
])

function decodeText(entry: JsonObject, at: string): TextPart {
  const text = textOf(entry.text)
  if (text === undefined) throw badField(`${at}.text`, 'is required')
  const part: TextPart = { kind: 'text', text, ...cacheOf(entry) }
  const citations = decodeAnnotations(entry.annotations)
  if (citations.length > 0) part.citations = citations
  return part
}

function decodeImage(entry: JsonObject, at: string): ImagePart {
  // Some clients keep the chat form, an object around the address.
  const url = textOf(entry.image_url) ?? textOf(objectOf(entry.image_url)?.url)
  const source = url === undefined ? fileSource(entry.file_id) : sourceOf(url)
  if (!source) throw badField(`${at}.image_url`, 'or file_id is required')
  const detail = textOf(entry.detail) ?? textOf(objectOf(entry.image_url)?.detail)
  return { kind: 'image', source, ...(detail !== undefined && { detail }), ...cacheOf(entry) }
}

function decodeFile(entry: JsonObject, at: string): FilePart {
  const data = textOf(entry.file_data)
  const url = textOf(entry.file_url)
  const filename = textOf(entry.filename)
  const source =
    data !== undefined
      ? dataSource(data, filename)
      : url !== undefined
        ? sourceOf(url)
        : fileSource(entry.file_id)
  if (!source) throw badField(`${at}.file_data`, 'or file_url or file_id is required')
  return { kind: 'file', source, ...(filename !== undefined && { filename }), ...cacheOf(entry) }
}

function decodeAudio(entry: JsonObject, at: string): Part {
  const audio = objectOf(entry.input_audio) ?? entry
  const data = textOf(audio.data)
  if (data === undefined) throw badField(`${at}.input_audio.data`, 'is required')
  return { kind: 'audio', data, format: textOf(audio.format) ?? 'wav' }
}

function decodeVideo(entry: JsonObject, at: string): Part {
  const url = textOf(entry.video_url) ?? textOf(objectOf(entry.video_url)?.url)
  if (url === undefined) throw badField(`${at}.video_url`, 'is required')
  return { kind: 'video', source: sourceOf(url) }
}

function cacheOf(entry: JsonObject): { cache?: CacheMark } {
  const control = objectOf(entry.cache_control)
  if (control) return { cache: cacheMark(control) }
  return objectOf(entry.prompt_cache_breakpoint) ? { cache: {} } : {}
}

export function cacheMark(control: JsonObject): CacheMark {
  const { ttl } = control
  return ttl === '5m' || ttl === '1h' ? { ttl } : {}
}

/** An address, or the bytes themselves in a `data:` one. */
export function sourceOf(url: string): Source {
  const match = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i.exec(url.slice(0, 200))
  if (!match) return linkedSource(url)
  return {
    kind: 'data',
    mediaType: match[1] || 'application/octet-stream',
    data: url.slice(match[0].length),
  }
}

/** `file_data` is a `data:` address, or with some clients bare base64. */
function dataSource(data: string, filename: string | undefined): Source {
  if (data.startsWith('data:') || /^https?:/.test(data)) return sourceOf(data)
  return { kind: 'data', mediaType: mediaTypeOf(filename), data }
}

function mediaTypeOf(filename: string | undefined): string {
  return filename?.toLowerCase().endsWith('.pdf') === false ? 'application/octet-stream' : 'application/pdf'
}

function fileSource(id: unknown): Source | undefined {
  return typeof id === 'string' ? { kind: 'file', id } : undefined
}

import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import {
  type CacheBreakpoint,
  type FilePart,
  type ImagePart,
  type InputPart,
  type MediaSource,
  type OpaquePart,
  type OutputPart,
  sourceFromUrl,
  type TextPart,
} from '../call/part.ts'
import { decodeAnnotations } from './annotations.ts'

type Part = InputPart | OutputPart

/** The content of a message: a string, null, or parts. `at` is the path for error messages. */
export function decodeContent(value: unknown, at: string): Part[] {
  if (value === null || value === undefined) return []
  if (typeof value === 'string') return [{ kind: 'text', text: value }]
  if (!Array.isArray(value)) throw invalidFieldError(at, 'must be a string or an array')
  return value.map((entry, index) => decodePart(entry, `${at}.${index}`))
}

function decodePart(value: unknown, at: string): Part {
  if (typeof value === 'string') return { kind: 'text', text: value }
  const entry = asObject(value)
  if (!entry) throw invalidFieldError(at, 'must be an object')
  const type = asString(entry.type)
  if (type === undefined) throw invalidFieldError(`${at}.type`, 'is required')
  return partDecoders.get(type)?.(entry, at) ?? createOpaquePart(entry)
}

export function createOpaquePart(value: JsonObject): OpaquePart {
  return { kind: 'opaque', wireFormat: 'responses', value }
}

const partDecoders = new Map<string, (entry: JsonObject, at: string) => Part>([
  ['input_text', decodeText],
  ['output_text', decodeText],
  ['text', decodeText],
  ['refusal', (entry) => ({ kind: 'refusal', text: asString(entry.refusal) ?? '' })],
  ['input_image', decodeImage],
  ['input_file', decodeFile],
  ['input_audio', decodeAudio],
  ['input_video', decodeVideo],
])

function decodeText(entry: JsonObject, at: string): TextPart {
  const text = asString(entry.text)
  if (text === undefined) throw invalidFieldError(`${at}.text`, 'is required')
  const part: TextPart = { kind: 'text', text, ...decodeCacheField(entry) }
  const citations = decodeAnnotations(entry.annotations)
  if (citations.length > 0) part.citations = citations
  return part
}

function decodeImage(entry: JsonObject, at: string): ImagePart {
  // Some clients send the chat form, an object around the URL.
  const url = asString(entry.image_url) ?? asString(asObject(entry.image_url)?.url)
  const source = url === undefined ? decodeFileId(entry.file_id) : decodeSource(url)
  if (!source) throw invalidFieldError(`${at}.image_url`, 'or file_id is required')
  const detail = asString(entry.detail) ?? asString(asObject(entry.image_url)?.detail)
  return { kind: 'image', source, ...(detail !== undefined && { detail }), ...decodeCacheField(entry) }
}

function decodeFile(entry: JsonObject, at: string): FilePart {
  const data = asString(entry.file_data)
  const url = asString(entry.file_url)
  const filename = asString(entry.filename)
  const source =
    data !== undefined
      ? decodeDataSource(data, filename)
      : url !== undefined
        ? decodeSource(url)
        : decodeFileId(entry.file_id)
  if (!source) throw invalidFieldError(`${at}.file_data`, 'or file_url or file_id is required')
  return { kind: 'file', source, ...(filename !== undefined && { filename }), ...decodeCacheField(entry) }
}

function decodeAudio(entry: JsonObject, at: string): Part {
  const audio = asObject(entry.input_audio) ?? entry
  const data = asString(audio.data)
  if (data === undefined) throw invalidFieldError(`${at}.input_audio.data`, 'is required')
  return { kind: 'audio', data, format: asString(audio.format) ?? 'wav' }
}

function decodeVideo(entry: JsonObject, at: string): Part {
  const url = asString(entry.video_url) ?? asString(asObject(entry.video_url)?.url)
  if (url === undefined) throw invalidFieldError(`${at}.video_url`, 'is required')
  return { kind: 'video', source: decodeSource(url) }
}

function decodeCacheField(entry: JsonObject): { cache?: CacheBreakpoint } {
  const control = asObject(entry.cache_control)
  if (control) return { cache: decodeCacheControl(control) }
  return asObject(entry.prompt_cache_breakpoint) ? { cache: {} } : {}
}

export function decodeCacheControl(control: JsonObject): CacheBreakpoint {
  const { ttl } = control
  return ttl === '5m' || ttl === '1h' ? { ttl } : {}
}

/** Splits a data URL; any other URL stays as it is. */
export function decodeSource(url: string): MediaSource {
  const match = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i.exec(url.slice(0, 200))
  if (!match) return sourceFromUrl(url)
  return {
    kind: 'data',
    mediaType: match[1] || 'application/octet-stream',
    data: url.slice(match[0].length),
  }
}

/** `file_data` is a data URL; some clients send bare base64. */
function decodeDataSource(data: string, filename: string | undefined): MediaSource {
  if (data.startsWith('data:') || /^https?:/.test(data)) return decodeSource(data)
  return { kind: 'data', mediaType: guessMediaType(filename), data }
}

function guessMediaType(filename: string | undefined): string {
  return filename?.toLowerCase().endsWith('.pdf') === false ? 'application/octet-stream' : 'application/pdf'
}

function decodeFileId(id: unknown): MediaSource | undefined {
  return typeof id === 'string' ? { kind: 'file', id } : undefined
}

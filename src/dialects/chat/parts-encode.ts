import {
  type AudioPart,
  type Citation,
  type FilePart,
  type ImagePart,
  type InputPart,
  isVendorFileUri,
  type OutputPart,
  type TextPart,
} from '../../call/part.ts'
import { asString, type JsonObject } from '../../lib/json-values.ts'
import type { Losses } from '../fields.ts'
import { urlOf } from './parts-decode.ts'

type Part = InputPart | OutputPart

/** Encodes a content part; undefined, with a loss, if the format cannot express it. */
export function encodePart(part: Part, losses: Losses): JsonObject | undefined {
  if ('cache' in part && part.cache) losses.add('cache_control')
  switch (part.kind) {
    case 'text':
      return encodeText(part, losses)
    case 'image':
      return encodeImage(part, losses)
    case 'file':
      return encodeFile(part, losses)
    case 'audio':
      return encodeAudio(part, losses)
    case 'video': {
      const url = urlOf(part.source)
      return url === undefined ? losses.add('video') : { type: 'video_url', video_url: { url } }
    }
    case 'opaque':
      return part.dialect === 'chat'
        ? part.value
        : losses.add(`block:${asString(part.value.type) ?? part.dialect}`)
    case 'refusal':
      return { type: 'refusal', refusal: part.text }
    default:
      return losses.add(`block:${part.kind}`)
  }
}

function encodeText(part: TextPart, losses: Losses): JsonObject {
  if (part.citations) losses.add('citations')
  return { type: 'text', text: part.text }
}

function encodeImage(part: ImagePart, losses: Losses): JsonObject | undefined {
  const url = urlOf(part.source)
  if (url === undefined) return losses.add('image')
  return { type: 'image_url', image_url: { url, ...(part.detail !== undefined && { detail: part.detail }) } }
}

function encodeFile(part: FilePart, losses: Losses): JsonObject | undefined {
  const { source, filename } = part
  if (part.citationsEnabled) losses.add('citations')
  if (part.context !== undefined) losses.add('file_context')
  const name = filename === undefined ? {} : { filename }
  if (source.kind === 'text') {
    if (filename !== undefined) losses.add('filename')
    return { type: 'text', text: source.text }
  }
  if (source.kind === 'url' || isVendorFileUri(source)) return losses.add('file')
  if (source.kind === 'file') return { type: 'file', file: { file_id: source.id, ...name } }
  // Most servers take the file type from the name.
  const dataName = filename ?? part.fallbackName
  return {
    type: 'file',
    file: { file_data: urlOf(source), ...(dataName !== undefined && { filename: dataName }) },
  }
}

function encodeAudio(part: AudioPart, losses: Losses): JsonObject | undefined {
  if (part.data === '') return losses.add('audio')
  return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
}

/** Encodes a citation as an annotation; `offset` is the start of its text part in the content. */
export function encodeCitation(citation: Citation, offset: number): JsonObject | undefined {
  const { url, title, citedText, start, end, native } = citation
  if (native?.dialect === 'chat') return native.value
  if (url === undefined) return undefined
  return {
    type: 'url_citation',
    url_citation: {
      url,
      title: title ?? '',
      ...(citedText !== undefined && { content: citedText }),
      ...(start !== undefined && { start_index: start + offset }),
      ...(end !== undefined && { end_index: end + offset }),
    },
  }
}

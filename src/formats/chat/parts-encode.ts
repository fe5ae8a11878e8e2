import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import {
  type AudioPart,
  type Citation,
  type FilePart,
  type ImagePart,
  type InputPart,
  isVendorFileUri,
  type OutputPart,
  type TextPart,
} from '../call/part.ts'
import type { Losses } from '../fields.ts'
import { fileUrnPrefix, urlOf } from './parts-decode.ts'

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
      return part.wireFormat === 'chat'
        ? part.value
        : losses.add(`block:${asString(part.value.type) ?? part.wireFormat}`)
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

/**
 * Encodes a citation as an annotation; `offset` is the start of its text part in the content. Clients reject
 * annotations of other types, and those without indexes.
 */
export function encodeCitation(citation: Citation, offset: number): JsonObject | undefined {
  const { title, citedText, file, native } = citation
  if (native?.wireFormat === 'chat') return native.value
  const url = citation.url ?? (file && encodeFileUrn(file, title))
  if (url === undefined) return undefined
  const start = citation.start === undefined ? 0 : citation.start + offset
  return {
    type: 'url_citation',
    url_citation: {
      url,
      title: title ?? file?.name ?? '',
      ...(citedText !== undefined && { content: citedText }),
      start_index: start,
      end_index: citation.end === undefined ? start : citation.end + offset,
    },
  }
}

/** The format cites URLs only: a file is cited by a URN of its id, or of its name. */
function encodeFileUrn({ id, name }: NonNullable<Citation['file']>, title: string | undefined) {
  const text = id ?? name ?? title
  return text === undefined ? undefined : `${fileUrnPrefix}${encodeURIComponent(text)}`
}

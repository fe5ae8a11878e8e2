import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import {
  type AudioPart,
  type FilePart,
  type ImagePart,
  type InputPart,
  isVendorFileUri,
  type MediaSource,
  type OutputPart,
  type VideoPart,
} from '../call/part.ts'
import type { Losses } from '../fields.ts'

type PartEncoder<Part> = (part: Part, losses: Losses) => JsonObject | undefined

/** The content of user and system messages and of tool results. */
export function encodeInputParts(parts: (InputPart | OutputPart)[], losses: Losses): JsonObject[] {
  return parts.map((part) => encodeInputPart(part, losses)).filter((part) => part !== undefined)
}

function encodeInputPart(part: InputPart | OutputPart, losses: Losses): JsonObject | undefined {
  if ('cache' in part && part.cache) losses.add('cache_control')
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'refusal':
      return { type: 'input_text', text: part.text }
    case 'image':
      return encodeImage(part, losses)
    case 'file':
      return encodeFile(part, losses)
    case 'audio':
      return encodeAudio(part, losses)
    case 'video':
      return encodeVideo(part, losses)
    case 'opaque':
      return part.wireFormat === 'responses'
        ? part.value
        : losses.add(`block:${asString(part.value.type) ?? part.wireFormat}`)
    default:
      return losses.add(`block:${part.kind}`)
  }
}

const encodeImage: PartEncoder<ImagePart> = ({ source, detail }, losses) => {
  if (source.kind === 'text' || isVendorFileUri(source)) return losses.add('image')
  const location = source.kind === 'file' ? { file_id: source.id } : { image_url: urlOf(source) }
  return { type: 'input_image', ...location, detail: detail ?? 'auto' }
}

const encodeFile: PartEncoder<FilePart> = (part, losses) => {
  const { source, filename, context, citationsEnabled } = part
  if (isVendorFileUri(source)) return losses.add('file')
  if (citationsEnabled) losses.add('citations')
  if (context !== undefined) losses.add('file_context')
  // This format has no filename for text and uploaded files.
  if (filename !== undefined && (source.kind === 'text' || source.kind === 'file')) losses.add('filename')
  if (source.kind === 'text') return { type: 'input_text', text: source.text }
  if (source.kind === 'file') return { type: 'input_file', file_id: source.id }
  if (source.kind === 'url') return omitUndefined({ type: 'input_file', file_url: source.url, filename })
  // The API requires a filename with data, and takes the file type from it.
  const name = filename ?? part.fallbackName ?? `file.${source.mediaType.split('/')[1] ?? 'bin'}`
  return { type: 'input_file', filename: name, file_data: urlOf(source) }
}

const encodeAudio: PartEncoder<AudioPart> = ({ data, format }) => ({
  type: 'input_audio',
  input_audio: { data, format },
})

const encodeVideo: PartEncoder<VideoPart> = ({ source }, losses) =>
  source.kind === 'url' || source.kind === 'data'
    ? { type: 'input_video', video_url: urlOf(source) }
    : losses.add('video')

function urlOf(source: Extract<MediaSource, { kind: 'url' | 'data' }>): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
}

import type { AudioPart, FilePart, ImagePart, VideoPart } from '../../formats/call/part.ts'
import type { FileContent } from './file-content.ts'

const audioFormats: Record<string, string> = {
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/ogg': 'ogg',
}

interface Referring {
  part: ImagePart | FilePart | VideoPart
  isInToolResult: boolean
}

/**
 * The part with the content of the file it refers to: the type of the file decides what it becomes. Returns the
 * problem if it cannot be such a part.
 */
export function toInlinePart(
  { part, isInToolResult }: Referring,
  content: FileContent,
): ImagePart | FilePart | AudioPart | string {
  const { file, isText, data } = content
  const { mime_type: mediaType, filename } = file
  const source = { kind: 'data' as const, mediaType, data }
  if (mediaType.startsWith('image/')) return { ...imageOptionsOf(part), kind: 'image', source }
  if (part.kind !== 'file')
    return `the file is ${mediaType}, not ${part.kind === 'image' ? 'an image' : 'a video'}`
  const format = audioFormats[mediaType]
  if (format === undefined)
    return {
      ...part,
      fallbackName: baseNameOf(filename),
      source: isText ? { kind: 'text', text: data } : source,
    }
  return isInToolResult
    ? 'the file is audio, which a tool result cannot have'
    : { kind: 'audio', data, format }
}

function imageOptionsOf(part: Referring['part']): Pick<ImagePart, 'detail' | 'cache'> {
  if (part.kind === 'video') return {}
  return {
    ...(part.kind === 'image' && part.detail !== undefined && { detail: part.detail }),
    ...(part.cache && { cache: part.cache }),
  }
}

/** Removes the folders that a name may contain. */
function baseNameOf(filename: string): string {
  return filename.slice(filename.lastIndexOf('/') + 1)
}

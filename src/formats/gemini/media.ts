import type { AudioPart, FilePart, ImagePart, MediaSource, VideoPart } from '../call/part.ts'

type MediaPart = ImagePart | AudioPart | VideoPart | FilePart

/** Audio formats whose media type is not `audio/<name>`. */
const audioMediaTypes: Record<string, string> = {
  pcm16: 'audio/L16;codec=pcm;rate=24000',
  pcm: 'audio/L16;codec=pcm;rate=24000',
}

export function encodeAudioFormat(format: string): string {
  return audioMediaTypes[format] ?? (format.includes('/') ? format : `audio/${format}`)
}

/** Subtypes with a shorter name in other formats; any other subtype is the format's name. */
const audioFormatNames: Record<string, string> = { mpeg: 'mp3', 'x-wav': 'wav', wave: 'wav', 'x-m4a': 'm4a' }

/** A rate other than the default stays in the name, because no other field carries it. */
function decodeAudioFormat(mediaType: string): string {
  if (mediaType.toLowerCase().startsWith('audio/l16')) {
    const rate = /rate=(\d+)/.exec(mediaType)?.[1]
    return rate === undefined || rate === '24000' ? 'pcm16' : mediaType
  }
  const [subtype = ''] = mediaType.slice('audio/'.length).split(';')
  return audioFormatNames[subtype] ?? subtype
}

export function decodeInlineMedia(mediaType: string, data: string): MediaPart {
  if (mediaType.startsWith('audio/')) return { kind: 'audio', data, format: decodeAudioFormat(mediaType) }
  const source: MediaSource = { kind: 'data', mediaType, data }
  if (mediaType.startsWith('image/')) return { kind: 'image', source }
  if (mediaType.startsWith('video/')) return { kind: 'video', source }
  return { kind: 'file', source }
}

/** Public URLs are fetched; other URIs (`gs:`, the vendor's file API) are file ids. */
export function decodeLinkedMedia(
  uri: string,
  mediaType: string | undefined,
): ImagePart | VideoPart | FilePart {
  const source: MediaSource =
    /^https?:/.test(uri) && !vendorFilePattern.test(uri)
      ? { kind: 'url', url: uri }
      : { kind: 'file', id: uri }
  const type = mediaType ?? guessMediaType(uri) ?? ''
  if (type.startsWith('image/')) return { kind: 'image', source }
  if (type.startsWith('video/') || videoSitePattern.test(uri)) return { kind: 'video', source }
  return { kind: 'file', source }
}

const vendorFilePattern = /^https:\/\/[^/]+\/v1(?:beta|alpha)?\/files\//
const videoSitePattern = /^https?:\/\/(?:www\.|m\.)?(?:youtube\.com|youtu\.be)\//

const mediaTypesByExtension: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  mpeg: 'video/mpeg',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  wav: 'audio/wav',
  mp3: 'audio/mp3',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
}

/** Media type by file extension. */
export function guessMediaType(uri: string): string | undefined {
  const extension = /\.([a-z0-9]+)(?:[?#]|$)/i.exec(uri.slice(uri.lastIndexOf('/') + 1))?.[1]
  return extension && mediaTypesByExtension[extension.toLowerCase()]
}

/** Whether a file id is a URI, the only kind that this format can send. */
export function isUri(id: string): boolean {
  return id.includes('://') || id.startsWith('files/')
}

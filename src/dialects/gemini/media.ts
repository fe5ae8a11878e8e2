import type { AudioPart, FilePart, ImagePart, MediaSource, VideoPart } from '../../call/part.ts'

type MediaPart = ImagePart | AudioPart | VideoPart | FilePart

/** Names of audio formats whose media type is not `audio/<name>`. */
const audioMediaTypes: Record<string, string> = {
  pcm16: 'audio/L16;codec=pcm;rate=24000',
  pcm: 'audio/L16;codec=pcm;rate=24000',
}

export function encodeAudioFormat(format: string): string {
  return audioMediaTypes[format] ?? (format.includes('/') ? format : `audio/${format}`)
}

/** Media types that have a shorter name elsewhere; any other format goes by what follows the slash. */
const audioFormatNames: Record<string, string> = { mpeg: 'mp3', 'x-wav': 'wav', wave: 'wav', 'x-m4a': 'm4a' }

/** A rate other than the usual one stays in the name, because nothing else tells it. */
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

/** A web address anyone can fetch; other addresses (`gs:`, the vendor's file store) are handles. */
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

/** What an address says of its content by its ending. */
export function guessMediaType(uri: string): string | undefined {
  const extension = /\.([a-z0-9]+)(?:[?#]|$)/i.exec(uri.slice(uri.lastIndexOf('/') + 1))?.[1]
  return extension && mediaTypesByExtension[extension.toLowerCase()]
}

/** A handle that this format can send: an address of some kind. */
export function isUri(id: string): boolean {
  return id.includes('://') || id.startsWith('files/')
}

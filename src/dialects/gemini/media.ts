import type { AudioPart, FilePart, ImagePart, Source, VideoPart } from '../../call/part.ts'

type MediaPart = ImagePart | AudioPart | VideoPart | FilePart

/** Names of audio formats whose media type is not `audio/<name>`. */
const audioTypes: Record<string, string> = {
  pcm16: 'audio/L16;codec=pcm;rate=24000',
  pcm: 'audio/L16;codec=pcm;rate=24000',
}

export function audioType(format: string): string {
  return audioTypes[format] ?? (format.includes('/') ? format : `audio/${format}`)
}

/** Media types that have a shorter name elsewhere; any other format goes by what follows the slash. */
const audioFormats: Record<string, string> = { mpeg: 'mp3', 'x-wav': 'wav', wave: 'wav', 'x-m4a': 'm4a' }

/** A rate other than the usual one stays in the name, because nothing else tells it. */
function audioFormat(mediaType: string): string {
  if (mediaType.toLowerCase().startsWith('audio/l16')) {
    const rate = /rate=(\d+)/.exec(mediaType)?.[1]
    return rate === undefined || rate === '24000' ? 'pcm16' : mediaType
  }
  const [subtype = ''] = mediaType.slice('audio/'.length).split(';')
  return audioFormats[subtype] ?? subtype
}

export function inlinePart(mediaType: string, data: string): MediaPart {
  if (mediaType.startsWith('audio/')) return { kind: 'audio', data, format: audioFormat(mediaType) }
  const source: Source = { kind: 'data', mediaType, data }
  if (mediaType.startsWith('image/')) return { kind: 'image', source }
  if (mediaType.startsWith('video/')) return { kind: 'video', source }
  return { kind: 'file', source }
}

/** A web address anyone can fetch; other addresses (`gs:`, the vendor's file store) are handles. */
export function linkedPart(uri: string, mediaType: string | undefined): ImagePart | VideoPart | FilePart {
  const source: Source =
    /^https?:/.test(uri) && !vendorFile.test(uri) ? { kind: 'url', url: uri } : { kind: 'file', id: uri }
  const type = mediaType ?? typeOfUri(uri) ?? ''
  if (type.startsWith('image/')) return { kind: 'image', source }
  if (type.startsWith('video/') || videoSite.test(uri)) return { kind: 'video', source }
  return { kind: 'file', source }
}

const vendorFile = /^https:\/\/[^/]+\/v1(?:beta|alpha)?\/files\//
const videoSite = /^https?:\/\/(?:www\.|m\.)?(?:youtube\.com|youtu\.be)\//

const extensions: Record<string, string> = {
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
export function typeOfUri(uri: string): string | undefined {
  const ending = /\.([a-z0-9]+)(?:[?#]|$)/i.exec(uri.slice(uri.lastIndexOf('/') + 1))?.[1]
  return ending && extensions[ending.toLowerCase()]
}

/** A handle that this format can send: an address of some kind. */
export function isUri(id: string): boolean {
  return id.includes('://') || id.startsWith('files/')
}

export interface ImageInfo {
  type: 'png' | 'jpeg' | 'webp' | 'gif'
  width: number
  height: number
}

/** Real files have dozens before the size. */
const maxSegments = 10_000

/** The type and size of an image, from its magic bytes and header; null for anything else. */
export function readImageSize(bytes: Uint8Array): ImageInfo | null {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const read of [readPng, readJpeg, readWebp, readGif]) {
    const info = read(view)
    if (info) return info.width > 0 && info.height > 0 ? info : null
  }
  return null
}

function hasText(bytes: Buffer, at: number, text: string): boolean {
  return bytes.length >= at + text.length && bytes.toString('latin1', at, at + text.length) === text
}

function readPng(bytes: Buffer): ImageInfo | null {
  if (bytes.length < 24 || !hasText(bytes, 0, '\x89PNG\r\n\x1a\n') || !hasText(bytes, 12, 'IHDR')) return null
  return { type: 'png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function readGif(bytes: Buffer): ImageInfo | null {
  if (bytes.length < 10 || !(hasText(bytes, 0, 'GIF87a') || hasText(bytes, 0, 'GIF89a'))) return null
  return { type: 'gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

/** The size is in the first start-of-frame segment. */
function readJpeg(bytes: Buffer): ImageInfo | null {
  if (!hasText(bytes, 0, '\xff\xd8\xff')) return null
  let at = 2
  for (let segments = 0; segments < maxSegments && at + 9 <= bytes.length; segments++) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at++
      continue
    }
    if (isStartOfFrame(marker)) {
      return { type: 'jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    }
    // Start of scan and end of image: no size before the pixels.
    if (marker === 0xda || marker === 0xd9) return null
    const isAlone = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)
    at += isAlone ? 2 : 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return null
}

/** C4, C8 and CC are tables. */
function isStartOfFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

function readWebp(bytes: Buffer): ImageInfo | null {
  if (bytes.length < 30 || !hasText(bytes, 0, 'RIFF') || !hasText(bytes, 8, 'WEBP')) return null
  const size = readWebpSize(bytes)
  return size && { type: 'webp', ...size }
}

function readWebpSize(bytes: Buffer): { width: number; height: number } | null {
  if (hasText(bytes, 12, 'VP8X')) {
    return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  }
  if (hasText(bytes, 12, 'VP8L') && bytes[20] === 0x2f) {
    const packed = bytes.readUInt32LE(21)
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
  }
  if (hasText(bytes, 12, 'VP8 ') && hasText(bytes, 23, '\x9d\x01\x2a')) {
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  }
  return null
}

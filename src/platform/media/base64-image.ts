import { readImageSize } from './image-info.ts'

export interface Base64ImageInfo {
  mediaType: string
  /** Null for vector graphics. */
  size: { width: number; height: number } | null
}

/** Real files have their size within the first 192 KiB; metadata such as color profiles comes before it. */
const headLength = 256 * 1024
const svgStart = /^\s*<(?:svg|\?xml|!--|!doctype svg)/i

/** The type and size of an image in base64, from its magic bytes and header; null for anything else. */
export function readBase64Image(data: string): Base64ImageInfo | null {
  const head = Buffer.from(data.slice(0, headLength), 'base64')
  const info = readImageSize(head)
  if (info) return { mediaType: `image/${info.type}`, size: { width: info.width, height: info.height } }
  const text = head.toString('utf8', 0, 4096)
  return svgStart.test(text) && text.includes('<svg') ? { mediaType: 'image/svg+xml', size: null } : null
}

/** A multiple of four characters; decoding one takes a fraction of a millisecond. */
const sliceLength = 64 * 1024
/** Output of decoding that only checks its input. */
const scratch = new Uint8Array((sliceLength * 3) / 4)

/** Checks, slice by slice, that a text is base64 and nothing else; for `runInSlices`. */
export function* checkBase64(text: string): Generator<undefined, boolean> {
  const end = text.endsWith('==') ? text.length - 2 : text.endsWith('=') ? text.length - 1 : text.length
  if (end === 0 || end % 4 === 1) return false
  for (let at = 0; at < end; at += sliceLength) {
    if (!isBase64(text.slice(at, Math.min(at + sliceLength, end)))) return false
    yield
  }
  return true
}

/** The same at once, for a text of kilobytes. */
export function isBase64Text(text: string): boolean {
  const steps = checkBase64(text)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

function isBase64(slice: string): boolean {
  try {
    // White space is skipped, which shows in the count.
    return scratch.setFromBase64(slice).written === Math.floor((slice.length * 3) / 4)
  } catch {
    return false
  }
}

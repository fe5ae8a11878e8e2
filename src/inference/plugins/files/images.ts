import type { ImagePart } from '../../../formats/call/part.ts'

const dataUrlHead = /^data:(image\/[\w.+-]{1,40});base64,/

/** An image from a data URL; null if it is none. */
export function readImage(url: string): ImagePart | null {
  const [head, mediaType] = dataUrlHead.exec(url.slice(0, 100)) ?? []
  if (head === undefined || mediaType === undefined) return null
  return { kind: 'image', source: { kind: 'data', mediaType, data: url.slice(head.length) } }
}

/** The reverse of `readImage`. */
export function formatImage({ source }: ImagePart): string | null {
  return source.kind === 'data' ? `data:${source.mediaType};base64,${source.data}` : null
}

import type { Schemas } from '../../api/client.ts'

/** A file in whichever of its forms the API lists it. */
type ListedFile = Schemas['ServiceFile'] | Schemas['VendorAFile'] | Schemas['VendorBFile']

export interface StoredFile {
  id: string
  name: string
  type: string
  bytes: number
  purpose: string
  createdAt: string
}

/** Converts a listed file. Its time is in seconds if the query has a purpose. */
export function toStoredFile(file: ListedFile): StoredFile {
  const { id, filename, mime_type, size_bytes, purpose, created_at } = file
  const createdAt = typeof created_at === 'number' ? new Date(created_at * 1000).toISOString() : created_at
  return { id, name: filename, type: mime_type, bytes: size_bytes, purpose, createdAt }
}

/** The types that a browser shows as a picture without running anything. An SVG is not among them. */
const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
const audioTypes = ['audio/mpeg', 'audio/wav', 'audio/flac', 'audio/ogg']
/** Larger ones are downloaded. */
const maxMediaBytes = 25_000_000

export type PreviewKind = 'image' | 'audio' | 'text' | null

/** The kind of preview of a file; null if it can only be downloaded. Markup of any kind is text. */
export function previewOf({ type, bytes }: Pick<StoredFile, 'type' | 'bytes'>): PreviewKind {
  if (type.startsWith('text/')) return 'text'
  if (bytes > maxMediaBytes) return null
  if (imageTypes.includes(type)) return 'image'
  return audioTypes.includes(type) ? 'audio' : null
}

/** An image or a recording in a message. */
export interface Media {
  kind: 'image' | 'audio'
  /** Null if the record has only its size. */
  url: string | null
  /** Its type and size, if it is not stored. */
  note: string
}

const maxMedia = 16
const maxLevels = 6
const dataUrl = /^data:((image|audio)\/[\w.+-]{1,40});base64,/
/** Types that a browser shows without running anything. */
const imageType = /^image\/(?:png|jpeg|gif|webp)$/
const audioFormats: Record<string, string> = { wav: 'audio/wav', mp3: 'audio/mpeg', ogg: 'audio/ogg' }
/** What the server stores in place of long data. */
const omitted = /\[(\d+) characters of data\]$/

/** The images and recordings of a message, in the parts of every format. Nothing that it names is loaded. */
export function findMedia(content: unknown): Media[] {
  const found: Media[] = []
  collect(content, 0, found)
  return found
}

function collect(value: unknown, level: number, found: Media[]): void {
  if (found.length >= maxMedia || level > maxLevels || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) collect(item, level + 1, found)
    return
  }
  const fields = value as Record<string, unknown>
  const media = readEncoded(fields)
  if (media) {
    found.push(media)
    return
  }
  for (const field of Object.values(fields)) {
    const inUrl = typeof field === 'string' ? readUrl(field) : null
    if (inUrl && found.length < maxMedia) found.push(inUrl)
    else collect(field, level + 1, found)
  }
}

/** Data beside its type: Messages and Gemini name the type, Chat Completions the format of a recording. */
function readEncoded(fields: Record<string, unknown>): Media | null {
  const { data, format } = fields
  const type = fields.media_type ?? fields.mime_type ?? fields.mimeType ?? audioFormats[String(format)]
  return typeof data === 'string' && typeof type === 'string' ? readUrl(`data:${type};base64,${data}`) : null
}

function readUrl(url: string): Media | null {
  const [, type = '', kind] = dataUrl.exec(url) ?? []
  if (kind !== 'audio' && !imageType.test(type)) return null
  const length = omitted.exec(url)?.[1]
  const media = { kind: kind === 'audio' ? ('audio' as const) : ('image' as const) }
  return length
    ? {
        ...media,
        url: null,
        note: `${type}, ${Number(length).toLocaleString('en-US')} characters, not stored`,
      }
    : { ...media, url, note: type }
}

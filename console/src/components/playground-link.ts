/** The content of a link to the playground. It has no attachments and no credentials. */
export interface SharedPrompt {
  models: string[]
  /** The message that is not sent yet. */
  draft: string
  settings: Record<string, unknown>
  messages: { role: 'user' | 'assistant'; content: string }[]
}

/** Longer addresses are cut by mail clients and chats. */
const maxLinkLength = 30_000
/** A link that a stranger made must not fill the memory. */
const maxBytes = 1_000_000
const maxModels = 4
const maxMessages = 200

/** The prompt as the fragment of an address, which no server sees; null if it is too long for one. */
export async function encodePrompt(prompt: SharedPrompt): Promise<string | null> {
  const bytes = new TextEncoder().encode(JSON.stringify(prompt))
  if (bytes.length > maxBytes) return null
  const packed = await convert(bytes, new CompressionStream('deflate-raw'))
  if (packed.length > maxLinkLength) return null
  const text = btoa(String.fromCharCode(...packed))
  const fragment = text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  return fragment.length > maxLinkLength ? null : fragment
}

/** Null if the fragment is damaged, or too long. */
export async function decodePrompt(fragment: string): Promise<SharedPrompt | null> {
  if (fragment.length === 0 || fragment.length > maxLinkLength) return null
  try {
    const text = atob(fragment.replaceAll('-', '+').replaceAll('_', '/'))
    const packed = Uint8Array.from(text, (character) => character.charCodeAt(0))
    const bytes = await convert(packed, new DecompressionStream('deflate-raw'))
    return readPrompt(JSON.parse(new TextDecoder().decode(bytes)))
  } catch {
    return null
  }
}

async function convert(
  bytes: Uint8Array<ArrayBuffer>,
  converter: CompressionStream | DecompressionStream,
): Promise<Uint8Array> {
  const reader = new Blob([bytes]).stream().pipeThrough(converter).getReader()
  const pieces: Uint8Array[] = []
  let length = 0
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    pieces.push(read.value)
    length += read.value.length
    if (length > maxBytes) {
      await reader.cancel()
      throw new RangeError('The prompt is too long.')
    }
  }
  const joined = new Uint8Array(length)
  let offset = 0
  for (const piece of pieces) {
    joined.set(piece, offset)
    offset += piece.length
  }
  return joined
}

/** Anybody can write a link: what is not of its type is left out. */
function readPrompt(value: unknown): SharedPrompt | null {
  if (!isObject(value)) return null
  const { models, draft, settings, messages } = value
  return {
    models: asArray(models)
      .filter((model) => typeof model === 'string')
      .slice(0, maxModels),
    draft: typeof draft === 'string' ? draft : '',
    settings: isObject(settings) ? settings : {},
    messages: asArray(messages)
      .flatMap((message) => {
        if (!isObject(message) || typeof message.content !== 'string') return []
        const role = message.role === 'assistant' ? ('assistant' as const) : ('user' as const)
        return [{ role, content: message.content }]
      })
      .slice(0, maxMessages),
  }
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

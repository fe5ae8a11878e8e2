/** A document declares its encoding near its start. */
const declarationBytes = 4096
const metaPattern = /<meta\s[^>]*charset\s*=\s*["']?\s*([\w.:-]+)/i
const xmlPattern = /^<\?xml\s[^>]*encoding\s*=\s*["']([\w.:-]+)/i

/** The text of bytes: by their byte order mark, by the header, by what the document declares, else UTF-8. */
export function decodeText(bytes: Uint8Array, headerCharset: string | null): string {
  const label = findMark(bytes) ?? headerCharset ?? findDeclared(bytes)
  const decoder = label === null ? null : createDecoder(label)
  if (decoder) return decoder.decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

function findMark([first, second, third]: Uint8Array): string | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xff && second === 0xfe ? 'utf-16le' : null
}

function findDeclared(bytes: Uint8Array): string | null {
  const start = Buffer.from(bytes.subarray(0, declarationBytes)).toString('latin1')
  return (xmlPattern.exec(start) ?? metaPattern.exec(start))?.[1] ?? null
}

/** Creates a decoder; null if the encoding is unknown. */
function createDecoder(label: string): TextDecoder | null {
  try {
    return new TextDecoder(label as Bun.Encoding)
  } catch {
    return null
  }
}

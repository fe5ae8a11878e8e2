/** A minimal HTTP/1.1 parser on a raw socket, for a test server that breaks connections. */
export interface WireRequest {
  method: string
  /** Path with its query. */
  path: string
  headers: Record<string, string>
  body: Buffer
}

/** Parses the bytes of a connection into requests. */
export class RequestReader {
  #bytes = Buffer.alloc(0)

  push(bytes: Uint8Array): WireRequest[] {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    const requests: WireRequest[] = []
    for (let next = this.#next(); next; next = this.#next()) requests.push(next)
    return requests
  }

  #next(): WireRequest | undefined {
    const end = this.#bytes.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const [line = '', ...rest] = this.#bytes.subarray(0, end).toString('latin1').split('\r\n')
    const [method = '', path = ''] = line.split(' ')
    const headers = parseHeaders(rest)
    const parsedBody = parseBody(headers, this.#bytes.subarray(end + 4))
    if (!parsedBody) return undefined
    this.#bytes = this.#bytes.subarray(end + 4 + parsedBody.used)
    return { method, path, headers, body: parsedBody.body }
  }
}

function parseHeaders(lines: string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
}

interface ParsedBody {
  body: Buffer
  used: number
}

function parseBody(headers: Record<string, string>, bytes: Buffer): ParsedBody | undefined {
  if (headers['transfer-encoding']?.includes('chunked')) return parseChunkedBody(bytes)
  const length = Number(headers['content-length'] ?? 0)
  return bytes.length < length ? undefined : { body: Buffer.from(bytes.subarray(0, length)), used: length }
}

function parseChunkedBody(bytes: Buffer): ParsedBody | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16)
    const next = line + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return { body: Buffer.concat(chunks), used: next }
    chunks.push(bytes.subarray(line + 2, line + 2 + size))
    at = next
  }
}

export function encodeHead(status: number, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${status < 400 ? 'OK' : 'Error'}\r\n${lines.join('')}\r\n`
}

export function encodeChunk(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

export const lastChunk = '0\r\n\r\n'

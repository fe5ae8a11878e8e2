import { createHash } from 'node:crypto'
import { sha256 } from '../crypto/crypto.ts'
import { type GatewayError, invalidFieldError } from '../errors/gateway-error.ts'
import { type BodyLimits, readBodyChunks } from './body-reader.ts'

/** One part of a form. Its body must be read before the next part. */
export interface FormPart {
  name: string
  filename: string | undefined
  contentType: string | undefined
  body: AsyncGenerator<Buffer>
}

/** Enough for a long filename in any encoding. */
const maxHeaderBytes = 16 * 1024
const lineEnd = Buffer.from('\r\n')
const headerEnd = Buffer.from('\r\n\r\n')

/**
 * The parts of a multipart/form-data body (RFC 7578) as they arrive, buffering only the current chunk. A pull parser:
 * it applies backpressure while a part is being stored, and a truncated body throws in the caller's loop.
 */
export async function* readFormParts(request: Request, limits: BodyLimits): AsyncGenerator<FormPart> {
  const boundary = parseBoundary(request)
  const digest = digests.get(request)
  const chunks = readBodyChunks(request, limits)
  try {
    const scanner = new MultipartScanner(chunks)
    const delimiter = Buffer.from(`\r\n--${boundary}`)
    for await (const _ of scanner.readUntil(delimiter));
    while (await hasNextPart(scanner)) {
      const headers = await scanner.collectUntil(headerEnd, maxHeaderBytes)
      const content = scanner.readUntil(delimiter)
      const body = digest ? digest.readPart(headers, content) : content
      yield { ...parseHead(headers), body }
      for await (const _ of body);
    }
    for await (const _ of chunks);
    digest?.finish()
  } finally {
    await chunks.return(undefined)
  }
}

const digests = new WeakMap<Request, FormDigest>()

/** A hash of the parts of a form. Without the boundary, which differs when a client repeats a request. */
export class FormDigest {
  readonly #parts: [string, string][] = []
  #value: string | null = null

  /** Computes the hash as the form is read. */
  static of(request: Request): FormDigest {
    const digest = new FormDigest()
    digests.set(request, digest)
    return digest
  }

  /** Null until the whole form has been read. */
  get value(): string | null {
    return this.#value
  }

  async *readPart(headers: Buffer, content: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    const hash = createHash('sha256')
    for await (const chunk of content) {
      hash.update(chunk)
      yield chunk
    }
    this.#parts.push([headers.toString('latin1'), hash.digest('hex')])
  }

  finish(): void {
    this.#value = sha256(JSON.stringify(this.#parts))
  }
}

/** Reads a whole form for its hash alone. */
export async function hashForm(request: Request, limits: BodyLimits): Promise<string | null> {
  const digest = FormDigest.of(request)
  for await (const _ of readFormParts(request, limits));
  return digest.value
}

function parseBoundary(request: Request): string {
  const type = request.headers.get('content-type') ?? ''
  const boundary = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type)
  const value = boundary?.[1] ?? boundary?.[2]
  if (value && /^multipart\/form-data\s*;/i.test(type)) return value
  throw invalidFieldError('content-type', 'must be multipart/form-data with a boundary')
}

function malformedFormError(problem: string): GatewayError {
  return invalidFieldError('body', `is not a well-formed multipart form: ${problem}`)
}

class MultipartScanner {
  readonly #chunks: AsyncGenerator<Uint8Array, undefined>
  // The first delimiter has no line end before it: this one makes it like the others.
  #buffer: Buffer = lineEnd

  constructor(chunks: AsyncGenerator<Uint8Array, undefined>) {
    this.#chunks = chunks
  }

  /** Everything before the delimiter, in chunks; the delimiter is consumed. */
  async *readUntil(delimiter: Buffer): AsyncGenerator<Buffer> {
    for (let at = -1; at < 0; ) {
      at = this.#buffer.indexOf(delimiter)
      // A possible start of the delimiter waits for the next chunk.
      const end = at >= 0 ? at : this.#findPossibleStart(delimiter)
      const chunk = this.#buffer.subarray(0, end)
      this.#buffer = this.#buffer.subarray(at >= 0 ? at + delimiter.length : end)
      if (chunk.length > 0) yield chunk
      if (at < 0) await this.#fill()
    }
  }

  /**
   * Finds where a delimiter may start that continues in the next chunk. Usually there is none, so chunks are not
   * copied.
   */
  #findPossibleStart(delimiter: Buffer): number {
    const { length } = this.#buffer
    const at = this.#buffer.indexOf(delimiter.subarray(0, 1), Math.max(0, length - delimiter.length + 1))
    return at >= 0 ? at : length
  }

  async collectUntil(delimiter: Buffer, maxBytes: number): Promise<Buffer> {
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of this.readUntil(delimiter)) {
      size += chunk.length
      if (size > maxBytes) throw malformedFormError('the headers of a part are too long')
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }

  async startsWith(prefix: string): Promise<boolean> {
    while (this.#buffer.length < prefix.length) await this.#fill()
    return this.#buffer.toString('latin1', 0, prefix.length) === prefix
  }

  async #fill(): Promise<void> {
    const { done, value } = await this.#chunks.next()
    if (done) throw malformedFormError('it ends before the last delimiter')
    this.#buffer =
      this.#buffer.length > 0
        ? Buffer.concat([this.#buffer, value])
        : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
}

/** Reads the end of a delimiter: `--` ends the form, a line break begins a part. */
async function hasNextPart(scanner: MultipartScanner): Promise<boolean> {
  if (await scanner.startsWith('--')) return false
  const rest = await scanner.collectUntil(lineEnd, maxHeaderBytes)
  if (rest.toString('latin1').trim() !== '') throw malformedFormError('a delimiter is followed by other text')
  return true
}

function parseHead(headers: Buffer): Omit<FormPart, 'body'> {
  const lines = headers.toString('utf8').split('\r\n')
  if (!lines.every((line) => /^[\w-]+:/.test(line)))
    throw malformedFormError('a part has no headers, or invalid ones')
  const line = lines.find((candidate) => /^content-disposition:/i.test(candidate)) ?? ''
  const parameters = parseParameters(line)
  const name = parameters.get('name')
  if (!/^content-disposition:\s*form-data\s*;/i.test(line) || name === undefined) {
    throw malformedFormError('a part has no name')
  }
  return {
    name,
    filename: decodeExtendedValue(parameters.get('filename*')) ?? parameters.get('filename'),
    contentType: lines.find((candidate) => /^content-type:/i.test(candidate))?.replace(/^[^:]+:\s*/, ''),
  }
}

function parseParameters(line: string): Map<string, string> {
  const parameters = new Map<string, string>()
  const pattern = /;\s*([\w*-]+)=(?:"((?:\\["\\]|[^"\\]|\\(?!["\\]))*)"|([^\s;"]*))/g
  for (const [, name = '', quoted, bare = ''] of line.matchAll(pattern)) {
    parameters.set(name.toLowerCase(), quoted === undefined ? bare : quoted.replace(/\\(["\\])/g, '$1'))
  }
  return parameters
}

/** `UTF-8''na%C3%AFve.txt`: the form of RFC 5987 that some clients use for non-ASCII names. */
function decodeExtendedValue(extended: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(extended ?? '')?.[1]
  if (encoded === undefined) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    throw malformedFormError('a filename is not valid percent-encoded UTF-8')
  }
}

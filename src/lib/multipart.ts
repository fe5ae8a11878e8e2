import { badField, type GatewayError } from '../errors.ts'
import { arriving, type BodyLimits } from './body.ts'

/** One part of a form. The body is read to its end before the next part is asked for. */
export interface Part {
  name: string
  filename: string | undefined
  body: AsyncGenerator<Buffer>
}

/** Room for a long filename in any encoding. */
const maxHeaderBytes = 16 * 1024
const lineEnd = Buffer.from('\r\n')
const headerEnd = Buffer.from('\r\n\r\n')

/**
 * The parts of a multipart/form-data body (RFC 7578) as they arrive; nothing is held but the piece at hand.
 * Pulled, not pushed: the sender waits while a part is being stored, and a body that breaks off is an
 * error in the reader's own loop.
 */
export async function* formParts(request: Request, limits: BodyLimits): AsyncGenerator<Part> {
  const boundary = boundaryOf(request)
  const chunks = arriving(request, limits)
  try {
    const text = new Scanner(chunks)
    const delimiter = Buffer.from(`\r\n--${boundary}`)
    for await (const _ of text.upTo(delimiter));
    while (await anotherPart(text)) {
      const head = dispositionOf(await text.take(headerEnd, maxHeaderBytes))
      const body = text.upTo(delimiter)
      yield { ...head, body }
      for await (const _ of body);
    }
    for await (const _ of chunks);
  } finally {
    await chunks.return(undefined)
  }
}

function boundaryOf(request: Request): string {
  const type = request.headers.get('content-type') ?? ''
  const boundary = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type)
  const found = boundary?.[1] ?? boundary?.[2]
  if (found && /^multipart\/form-data\s*;/i.test(type)) return found
  throw badField('content-type', 'must be multipart/form-data with a boundary')
}

function broken(problem: string): GatewayError {
  return badField('body', `is not a well-formed multipart form: ${problem}`)
}

class Scanner {
  readonly #chunks: AsyncGenerator<Uint8Array, undefined>
  // The first delimiter has no line before it: this one makes it like the others.
  #held: Buffer = lineEnd

  constructor(chunks: AsyncGenerator<Uint8Array, undefined>) {
    this.#chunks = chunks
  }

  /** Everything before the mark, in pieces; the mark itself is passed over. */
  async *upTo(mark: Buffer): AsyncGenerator<Buffer> {
    for (let at = -1; at < 0; ) {
      at = this.#held.indexOf(mark)
      // What may be the beginning of the mark waits for the next chunk.
      const end = at >= 0 ? at : Math.max(0, this.#held.length - mark.length + 1)
      const piece = this.#held.subarray(0, end)
      this.#held = this.#held.subarray(at >= 0 ? at + mark.length : end)
      if (piece.length > 0) yield piece
      if (at < 0) await this.#fill()
    }
  }

  async take(mark: Buffer, maxBytes: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    let size = 0
    for await (const piece of this.upTo(mark)) {
      size += piece.length
      if (size > maxBytes) throw broken('the headers of a part are too long')
      pieces.push(piece)
    }
    return Buffer.concat(pieces)
  }

  async startsWith(mark: string): Promise<boolean> {
    while (this.#held.length < mark.length) await this.#fill()
    return this.#held.toString('latin1', 0, mark.length) === mark
  }

  async #fill(): Promise<void> {
    const { done, value } = await this.#chunks.next()
    if (done) throw broken('it ends too early')
    this.#held = Buffer.concat([this.#held, value])
  }
}

/** After a delimiter: `--` ends the form, a line break begins a part. */
async function anotherPart(text: Scanner): Promise<boolean> {
  if (await text.startsWith('--')) return false
  const rest = await text.take(lineEnd, maxHeaderBytes)
  if (rest.toString('latin1').trim() !== '') throw broken('a delimiter is followed by other text')
  return true
}

function dispositionOf(headers: Buffer): { name: string; filename: string | undefined } {
  const lines = headers.toString('utf8').split('\r\n')
  if (!lines.every((line) => /^[\w-]+:/.test(line))) throw broken('a part has no headers, or broken ones')
  const line = lines.find((candidate) => /^content-disposition:/i.test(candidate)) ?? ''
  const parameters = parametersOf(line)
  const name = parameters.get('name')
  if (!/^content-disposition:\s*form-data\s*;/i.test(line) || name === undefined) {
    throw broken('a part has no name')
  }
  return { name, filename: decoded(parameters.get('filename*')) ?? parameters.get('filename') }
}

function parametersOf(line: string): Map<string, string> {
  const found = new Map<string, string>()
  const pattern = /;\s*([\w*-]+)=(?:"((?:\\["\\]|[^"\\]|\\(?!["\\]))*)"|([^\s;"]*))/g
  for (const [, name = '', quoted, bare = ''] of line.matchAll(pattern)) {
    found.set(name.toLowerCase(), quoted === undefined ? bare : quoted.replace(/\\(["\\])/g, '$1'))
  }
  return found
}

/** `UTF-8''na%C3%AFve.txt`, the form of RFC 5987 that some clients use for names beyond ASCII. */
function decoded(extended: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(extended ?? '')?.[1]
  if (encoded === undefined) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    throw broken('a filename is not valid percent-encoded UTF-8')
  }
}

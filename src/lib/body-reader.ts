import { GatewayError, gatewayError, invalidFieldError } from '../errors/gateway-error.ts'
import { withDeadline } from './deadline.ts'
import { yieldToEventLoop } from './time-slicer.ts'

/** What a sender may take: how long it may pause, and how slow it may be over the whole of a body. */
export interface Pace {
  /** Milliseconds. */
  idle: number
  bytesPerSecond: number
}

export interface BodyLimits {
  maxBytes: number
  pace: Pace
}

const maxBufferedBytes = 1024 * 1024

/**
 * The whole body as text, refused as soon as it is known to be too long, too slow or not UTF-8. `inspect` is given
 * the text as it arrives, and may refuse it by throwing.
 */
export async function readBodyText(
  request: Request,
  limits: BodyLimits,
  inspect: (text: string) => void = () => undefined,
): Promise<string> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  // What comes in one piece is read in one: most requests are small, and this is the cheaper way.
  if (declared <= Math.min(maxBufferedBytes, limits.maxBytes)) {
    const text = decodeBuffer(await readBuffered(request, declared, limits.pace))
    inspect(text)
    return text
  }
  const utf8 = new Utf8Decoder()
  const texts: string[] = []
  const add = (text: string) => {
    inspect(text)
    texts.push(text)
  }
  for await (const chunk of readBodyChunks(request, limits)) {
    for (let at = 0; at < chunk.length; at += decodeSliceBytes) {
      add(utf8.decode(chunk.subarray(at, at + decodeSliceBytes), true))
      if (at > 0) await yieldToEventLoop()
    }
  }
  add(utf8.decode(new Uint8Array(), false))
  return texts.join('')
}

/** So much is looked at in a millisecond or two. */
const decodeSliceBytes = 256 * 1024

/** For texts in one piece: it keeps nothing between two of them. */
const bufferDecoder = new TextDecoder('utf-8', { fatal: true })

/** Text sent on with characters replaced would not be what the client wrote: what is not UTF-8 is refused. */
function decodeBuffer(bytes: Uint8Array): string {
  try {
    return bufferDecoder.decode(bytes)
  } catch {
    throw invalidUtf8Error(findInvalidByte(bytes))
  }
}

function invalidUtf8Error(offset: number): GatewayError {
  return gatewayError('malformed_json', `The request body is not valid UTF-8 near byte ${offset}.`)
}

/** The same for texts in several pieces. */
class Utf8Decoder {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  #bytes = 0

  decode(bytes: Uint8Array, stream: boolean): string {
    try {
      const text = this.#decoder.decode(bytes, { stream })
      this.#bytes += bytes.length
      return text
    } catch {
      throw invalidUtf8Error(this.#bytes + findInvalidByte(bytes))
    }
  }
}

/** Where decoding with replacements stops giving back the same bytes. */
function findInvalidByte(bytes: Uint8Array): number {
  const replaced = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  const end = bytes.findIndex((byte, place) => byte !== replaced[place])
  return end === -1 ? bytes.length : end
}

async function readBuffered(request: Request, declared: number, pace: Pace): Promise<Uint8Array> {
  const ms = pace.idle + (declared / pace.bytesPerSecond) * 1000
  try {
    return await withDeadline(ms, request.bytes(), tooSlowError)
  } catch (error) {
    throw error instanceof GatewayError ? error : invalidFieldError('body', 'broke off')
  }
}

/** The connection is of no use any more: the rest of the body may come at any time, or never. */
function tooSlowError(): GatewayError {
  return new GatewayError('request_timeout', {
    message: 'The request body arrived too slowly.',
    headers: { connection: 'close' },
  })
}

/** Content-Length alone is enough to refuse: nothing of the body needs to be read. */
export function assertDeclaredLength(request: Request, maxBytes: number): void {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw bodyTooLargeError(maxBytes)
}

function bodyTooLargeError(maxBytes: number): GatewayError {
  return gatewayError('body_too_large', `The request body is larger than ${maxBytes} bytes.`, {
    max_bytes: maxBytes,
  })
}

/** The body as it arrives. A sender that is gone has sent a broken body; that is no fault of ours. */
export async function* readBodyChunks(
  request: Request,
  { maxBytes, pace }: BodyLimits,
): AsyncGenerator<Uint8Array, undefined> {
  const reader = request.body?.getReader()
  if (!reader) return undefined
  let size = 0
  /** Time the sender had: what the reader of the chunks takes is not the sender's fault. */
  let waitedMs = 0
  try {
    for (;;) {
      const allowedMs = pace.idle + (size / pace.bytesPerSecond) * 1000 - waitedMs
      const startedAt = performance.now()
      const { done, value } = await withDeadline(Math.min(pace.idle, allowedMs), reader.read(), tooSlowError)
      waitedMs += performance.now() - startedAt
      if (done) return undefined
      size += value.byteLength
      if (size > maxBytes) throw bodyTooLargeError(maxBytes)
      yield value
    }
  } catch (error) {
    throw error instanceof GatewayError ? error : invalidFieldError('body', 'broke off')
  } finally {
    reader.releaseLock()
  }
}

import { GatewayError, gatewayError, invalidFieldError } from '../errors/gateway-error.ts'
import { withDeadline } from '../time/deadline.ts'
import { yieldToEventLoop } from '../time/time-slicer.ts'
import { contentEncodingOf, decodeChunks } from './content-encoding.ts'

/** The longest pause of a sender, and its lowest average rate over a whole body. */
export interface Pace {
  /** Milliseconds. */
  idle: number
  bytesPerSecond: number
}

/** What is known of a gateway that receives bodies. */
interface Receiver {
  settings: { limits: { body_idle: number; body_rate: number } }
}

/** The minimum rate at which a request body must arrive. */
export function bodyPaceOf({ settings: { limits } }: Receiver): Pace {
  return { idle: limits.body_idle, bytesPerSecond: limits.body_rate }
}

export interface BodyLimits {
  maxBytes: number
  pace: Pace
}

const maxBufferedBytes = 1024 * 1024

/**
 * The whole body as text, rejected as soon as it is too long, too slow or not UTF-8. `inspect` receives the text as
 * it arrives and may reject it by throwing.
 */
export async function readBodyText(
  request: Request,
  limits: BodyLimits,
  inspect?: (text: string) => void,
): Promise<string> {
  const declared = declaredLengthOf(request)
  // Most requests are small, and reading the whole body at once is cheaper.
  if (declared <= Math.min(maxBufferedBytes, limits.maxBytes)) {
    const text = decodeBuffer(await readBuffered(request, declared, limits.pace))
    inspect?.(text)
    return text
  }
  const utf8 = new Utf8Decoder()
  const texts: string[] = []
  const add = (text: string) => {
    inspect?.(text)
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

/** Takes a millisecond or two to decode. */
const decodeSliceBytes = 256 * 1024

/** Shared, because decoding a whole buffer leaves no state. */
const bufferDecoder = new TextDecoder('utf-8', { fatal: true })

/** Invalid UTF-8 is rejected: with replacement characters the prompt would not be what the client sent. */
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

/** Decodes texts that arrive in chunks. */
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

/** The first byte that changes when the text is decoded with replacement characters and encoded again. */
function findInvalidByte(bytes: Uint8Array): number {
  const replaced = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  const end = bytes.findIndex((byte, index) => byte !== replaced[index])
  return end === -1 ? bytes.length : end
}

async function readBuffered(request: Request, declared: number, pace: Pace): Promise<Uint8Array> {
  const reading = request.bytes()
  // Most bodies have arrived with the headers: no timer is needed.
  if (Bun.peek.status(reading) === 'fulfilled') return reading
  const ms = pace.idle + (declared / pace.bytesPerSecond) * 1000
  try {
    return await withDeadline(ms, reading, tooSlowError)
  } catch (error) {
    throw error instanceof GatewayError ? error : invalidFieldError('body', 'ended before it was complete')
  }
}

/** Closes the connection, because the rest of the body may still arrive on it. */
function tooSlowError(): GatewayError {
  return new GatewayError('request_timeout', {
    message: 'The request body arrived too slowly.',
    headers: { connection: 'close' },
  })
}

/** The length of a body by `Content-Length`; NaN if there is none, or if the body is compressed. */
export function declaredLengthOf(request: Request): number {
  if (request.headers.has('content-encoding') && contentEncodingOf(request) !== null) return Number.NaN
  return Number(request.headers.get('content-length') ?? Number.NaN)
}

/** Rejects by Content-Length, before anything of the body is read. */
export function assertDeclaredLength(request: Request, maxBytes: number): void {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw bodyTooLargeError(maxBytes)
}

function bodyTooLargeError(maxBytes: number): GatewayError {
  return gatewayError('body_too_large', `The request body is larger than the maximum of ${maxBytes} bytes.`, {
    max_bytes: maxBytes,
  })
}

/** The body as it arrives, decompressed. Both its sizes are bounded. */
export async function* readBodyChunks(
  request: Request,
  limits: BodyLimits,
): AsyncGenerator<Uint8Array, undefined> {
  const encoding = contentEncodingOf(request)
  const received = receiveChunks(request, limits)
  if (encoding === null) return yield* received
  let size = 0
  for await (const chunk of decodeChunks(received, encoding)) {
    size += chunk.byteLength
    if (size > limits.maxBytes) throw bodyTooLargeError(limits.maxBytes)
    yield chunk
  }
  return undefined
}

/** A sender that disconnects has sent an invalid body, which is not an internal error. */
async function* receiveChunks(
  request: Request,
  { maxBytes, pace }: BodyLimits,
): AsyncGenerator<Uint8Array, undefined> {
  const reader = request.body?.getReader()
  if (!reader) return undefined
  let size = 0
  /** Time spent waiting for the sender; the time of the consumer does not count. */
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
    throw error instanceof GatewayError ? error : invalidFieldError('body', 'ended before it was complete')
  } finally {
    reader.releaseLock()
  }
}

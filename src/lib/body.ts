import { badField, fail, GatewayError } from '../errors.ts'
import { withDeadline } from './deadline.ts'
import { nextTurn } from './turns.ts'

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

const smallBytes = 1024 * 1024

/**
 * The whole body as text, refused as soon as it is known to be too long, too slow or not UTF-8. `inspect` is given
 * the text as it arrives, and may refuse it by throwing.
 */
export async function readText(
  request: Request,
  limits: BodyLimits,
  inspect: (text: string) => void = () => undefined,
): Promise<string> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  // What comes in one piece is read in one: most requests are small, and this is the cheaper way.
  if (declared <= Math.min(smallBytes, limits.maxBytes)) {
    const text = decodeWhole(await readAtOnce(request, declared, limits.pace))
    inspect(text)
    return text
  }
  const utf8 = new Utf8()
  const texts: string[] = []
  const add = (text: string) => {
    inspect(text)
    texts.push(text)
  }
  for await (const chunk of arriving(request, limits)) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      add(utf8.decode(chunk.subarray(at, at + sliceBytes), true))
      if (at > 0) await nextTurn()
    }
  }
  add(utf8.decode(new Uint8Array(), false))
  return texts.join('')
}

/** So much is looked at in a millisecond or two. */
const sliceBytes = 256 * 1024

/** For texts in one piece: it keeps nothing between two of them. */
const wholeDecoder = new TextDecoder('utf-8', { fatal: true })

/** Text sent on with characters replaced would not be what the client wrote: what is not UTF-8 is refused. */
function decodeWhole(bytes: Uint8Array): string {
  try {
    return wholeDecoder.decode(bytes)
  } catch {
    throw notUtf8(firstDifference(bytes))
  }
}

function notUtf8(place: number): GatewayError {
  return fail('malformed_json', `The request body is not valid UTF-8 near byte ${place}.`)
}

/** The same for texts in several pieces. */
class Utf8 {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  #bytes = 0

  decode(bytes: Uint8Array, stream: boolean): string {
    try {
      const text = this.#decoder.decode(bytes, { stream })
      this.#bytes += bytes.length
      return text
    } catch {
      throw notUtf8(this.#bytes + firstDifference(bytes))
    }
  }
}

/** Where decoding with replacements stops giving back the same bytes. */
function firstDifference(bytes: Uint8Array): number {
  const replaced = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  const end = bytes.findIndex((byte, place) => byte !== replaced[place])
  return end === -1 ? bytes.length : end
}

async function readAtOnce(request: Request, declared: number, pace: Pace): Promise<Uint8Array> {
  const ms = pace.idle + (declared / pace.bytesPerSecond) * 1000
  try {
    return await withDeadline(ms, request.bytes(), tooSlow)
  } catch (error) {
    throw error instanceof GatewayError ? error : badField('body', 'broke off')
  }
}

/** The connection is of no use any more: the rest of the body may come at any time, or never. */
function tooSlow(): GatewayError {
  return new GatewayError('request_timeout', {
    message: 'The request body arrived too slowly.',
    headers: { connection: 'close' },
  })
}

/** Content-Length alone is enough to refuse: nothing of the body needs to be read. */
export function refuseDeclared(request: Request, maxBytes: number): void {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

function tooLarge(maxBytes: number): GatewayError {
  return fail('body_too_large', `The request body is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes })
}

/** The body as it arrives. A sender that is gone has sent a broken body; that is no fault of ours. */
export async function* arriving(
  request: Request,
  { maxBytes, pace }: BodyLimits,
): AsyncGenerator<Uint8Array, undefined> {
  const reader = request.body?.getReader()
  if (!reader) return undefined
  let size = 0
  /** Time the sender had: what the reader of the chunks takes is not the sender's fault. */
  let waited = 0
  try {
    for (;;) {
      const allowed = pace.idle + (size / pace.bytesPerSecond) * 1000 - waited
      const startedAt = performance.now()
      const { done, value } = await withDeadline(Math.min(pace.idle, allowed), reader.read(), tooSlow)
      waited += performance.now() - startedAt
      if (done) return undefined
      size += value.byteLength
      if (size > maxBytes) throw tooLarge(maxBytes)
      yield value
    }
  } catch (error) {
    throw error instanceof GatewayError ? error : badField('body', 'broke off')
  } finally {
    reader.releaseLock()
  }
}

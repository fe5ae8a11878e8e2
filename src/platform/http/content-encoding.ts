import { type Duplex, Readable } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { GatewayError, invalidFieldError } from '../errors/gateway-error.ts'
import { ZstdFrames } from '../files/zstd-frames.ts'

/** The encodings of request bodies, with what decodes them. They decode on threads of the runtime, chunk by chunk. */
const decoders = {
  gzip: () => createGunzip(options),
  'x-gzip': () => createGunzip(options),
  br: () => createBrotliDecompress(options),
  zstd: () => createZstdDecompress({ ...options, params: zstdParams }),
  deflate: (first: Uint8Array) => (isZlib(first) ? createInflate(options) : createInflateRaw(options)),
} satisfies Record<string, (first: Uint8Array) => Duplex>

type ContentEncoding = keyof typeof decoders

/** Decoded at a time: more waits until the reader has taken it. */
const options = { chunkSize: 64 * 1024 }

/** 8 MB, the most that RFC 9659 allows for HTTP: a frame of a few bytes could require 128 MB. */
const zstdParams = { [constants.ZSTD_d_windowLogMax]: 23 }

/** Some clients send `deflate` without the header of zlib, whose first two bytes are a multiple of 31. */
function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}

/** Null for a body that is not encoded. */
export function contentEncodingOf({ headers }: Request): ContentEncoding | null {
  const header = headers.get('content-encoding')
  if (header === null) return null
  const name = header.trim().toLowerCase()
  if (name === '' || name === 'identity') return null
  if (Object.hasOwn(decoders, name)) return name as ContentEncoding
  throw new GatewayError('encoding_unsupported', {
    headers: { 'accept-encoding': 'gzip, deflate, br, zstd' },
  })
}

/** The decoded bytes of a body. The caller bounds their number: a few bytes can decode to gigabytes. */
export async function* decodeChunks(
  chunks: AsyncGenerator<Uint8Array, undefined>,
  encoding: ContentEncoding,
): AsyncGenerator<Uint8Array, undefined> {
  const first = await readStart(chunks)
  if (first.length === 0) return undefined
  const frames = encoding === 'zstd' ? new ZstdFrames() : null
  const source = Readable.from(prepend(first, chunks, frames), { objectMode: false })
  const decoder = decoders[encoding](first)
  source.on('error', (error) => decoder.destroy(error))
  try {
    for await (const chunk of source.pipe(decoder)) yield chunk as Uint8Array
    if (frames?.isComplete === false) throw new Error('the last frame is cut')
  } catch (error) {
    throw error instanceof GatewayError ? error : invalidFieldError('body', `is not valid ${encoding} data`)
  } finally {
    decoder.destroy()
    source.destroy()
  }
  return undefined
}

/** Reads at least two bytes, which `isZlib` needs, unless the body is shorter. */
async function readStart(chunks: AsyncGenerator<Uint8Array, undefined>): Promise<Uint8Array> {
  let start: Uint8Array = new Uint8Array()
  while (start.length < 2) {
    const { done, value } = await chunks.next()
    if (done) break
    start = start.length === 0 ? value : Buffer.concat([start, value])
  }
  return start
}

async function* prepend(
  first: Uint8Array,
  rest: AsyncGenerator<Uint8Array>,
  frames: ZstdFrames | null,
): AsyncGenerator<Uint8Array> {
  frames?.add(first)
  yield first
  for await (const chunk of rest) {
    frames?.add(chunk)
    yield chunk
  }
}

import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { acceptsEncoding } from '../platform/http/accept-encoding.ts'
import { minCompressedBytes, shortResponses } from '../platform/http/response-traits.ts'
import { findSharedBody } from './shared-body.ts'

/** Takes a fraction of a millisecond; what is longer is compressed on another thread. */
const maxBytesAtOnce = 32 * 1024

type Bytes = Uint8Array<ArrayBuffer>

interface Compressor {
  name: string
  compress: (bytes: Bytes) => Promise<Uint8Array>
}

const compressGzip = promisify(gzip)
const compressBrotli = promisify(brotliCompress)
const level = 3

/** Compressors in the order of preference. */
const compressors: Compressor[] = [
  {
    name: 'zstd',
    compress: async (bytes) =>
      isShort(bytes) ? Bun.zstdCompressSync(bytes, { level }) : Bun.zstdCompress(bytes, { level }),
  },
  {
    name: 'gzip',
    compress: async (bytes) =>
      isShort(bytes) ? Bun.gzipSync(bytes, { level }) : compressGzip(bytes, { level }),
  },
  {
    name: 'br',
    compress: (bytes) => compressBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: level } }),
  },
]

function isShort({ length }: Uint8Array): boolean {
  return length <= maxBytesAtOnce
}

/** A JSON response or a page in an encoding that the client accepts. Streams and short responses remain as they are. */
export function compressResponse(request: Request, response: Response): Response | Promise<Response> {
  const accepted = request.headers.get('accept-encoding')
  if (accepted === null || accepted === 'identity') return response
  if (request.method === 'HEAD' || shortResponses.has(response)) return response
  if (!isCompressible(response.headers)) return response
  const compressor = compressors.find(({ name }) => acceptsEncoding(accepted, name))
  return compressor ? encode(response, compressor) : response
}

const textPattern = /^(?:application\/(?:[\w.-]+\+)?json|text\/html)\b/

/** A length says that the body is a file, and `no-transform` that it is a stream. A response not to be stored has secrets. */
function isCompressible(headers: Headers): boolean {
  if (!textPattern.test(headers.get('content-type') ?? '')) return false
  if (headers.has('content-encoding') || headers.has('content-length')) return false
  return !/no-transform|no-store/.test(headers.get('cache-control') ?? '')
}

async function encode(response: Response, { name, compress }: Compressor): Promise<Response> {
  const { status, headers } = response
  headers.append('vary', 'accept-encoding')
  const shared = findSharedBody(response)
  if (shared && shared.text.length > minCompressedBytes) {
    headers.set('content-encoding', name)
    const compressed = shared.compress(name, (text) => compress(Buffer.from(text)))
    return new Response(new Uint8Array(await compressed), { status, headers })
  }
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (bytes.length <= minCompressedBytes) return new Response(bytes, { status, headers })
  headers.set('content-encoding', name)
  return new Response(await compress(bytes), { status, headers })
}

import { describe, expect, test } from 'bun:test'
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib'
import { GatewayError } from '../errors/gateway-error.ts'
import { ZstdFrames } from '../files/zstd-frames.ts'
import { readBodyChunks, readBodyText } from './body-reader.ts'

const pace = { idle: 10_000, bytesPerSecond: 1 }
const limits = { maxBytes: 1_000_000, pace }

function requestOf(chunks: Uint8Array[]): Request {
  const left = [...chunks]
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift()
      if (next) controller.enqueue(next)
      else controller.close()
    },
  })
  return new Request('http://localhost/', { method: 'POST', body })
}

function wholeRequest(bytes: Uint8Array): Request {
  const headers = { 'content-length': String(bytes.length) }
  return new Request('http://localhost/', { method: 'POST', headers, body: bytes })
}

/** Sends one byte at a time, and never ends. */
function drip(everyMs: number): Request {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(everyMs)
      controller.enqueue(new Uint8Array([0x20]))
    },
  })
  return new Request('http://localhost/', { method: 'POST', body })
}

function captureError(work: Promise<unknown>): Promise<GatewayError> {
  return work.then(
    () => Promise.reject(new Error('nothing was rejected')),
    (error: unknown) => (error instanceof GatewayError ? error : Promise.reject(error)),
  )
}

describe('the text of a body', () => {
  const bytes = Buffer.from('{"ä":"日本語 🙂"}')

  test('is the same whether it arrives at once or byte by byte', async () => {
    expect(await readBodyText(wholeRequest(bytes), limits)).toBe(bytes.toString())
    const single = [...bytes].map((byte) => new Uint8Array([byte]))
    expect(await readBodyText(requestOf(single), limits)).toBe(bytes.toString())
  })

  test('is rejected if it is not UTF-8, and never has replacement characters', async () => {
    const broken = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff]), Buffer.from('"}')])
    const cut = bytes.subarray(0, 3)
    for (const request of [wholeRequest(broken), requestOf([broken.subarray(0, 5), broken.subarray(5)])]) {
      const error = await captureError(readBodyText(request, limits))
      expect(error.message).toBe('The request body is not valid UTF-8 near byte 9.')
      expect(error.row.status).toBe(400)
    }
    expect((await captureError(readBodyText(requestOf([cut]), limits))).message).toContain('not valid UTF-8')
    const replaced = '{"name":"\ufffd"}'
    expect(await readBodyText(wholeRequest(Buffer.from(replaced)), limits)).toBe(replaced)
  })

  test('S13 is rejected while it arrives', async () => {
    const inspected: string[] = []
    const inspect = (text: string) => {
      inspected.push(text)
      if (inspected.length === 2) throw new GatewayError('malformed_json')
    }
    const request = requestOf(['a', 'b', 'c', 'd'].map((text) => Buffer.from(text)))
    await captureError(readBodyText(request, limits, inspect))
    expect(inspected).toEqual(['a', 'b'])
  })
})

describe('S13 a body that arrives too slowly', () => {
  test('is rejected even without a long pause', async () => {
    const slow = { maxBytes: 1_000_000, pace: { idle: 200, bytesPerSecond: 1000 } }
    const error = await captureError(readBodyText(drip(20), slow))
    expect([error.row.status, error.headers.connection]).toEqual([408, 'close'])
  })

  test('is accepted if it is fast enough on average', async () => {
    const steady = { maxBytes: 10, pace: { idle: 100, bytesPerSecond: 1 } }
    const error = await captureError(readBodyText(drip(1), steady))
    expect(error.row.status).toBe(413)
  })

  test('the time of the consumer does not count against the sender', async () => {
    const chunks = [1, 2, 3].map(() => new Uint8Array([0x20]))
    let count = 0
    const prompt = { maxBytes: 100, pace: { idle: 30, bytesPerSecond: 1_000_000 } }
    for await (const _ of readBodyChunks(requestOf(chunks), prompt)) {
      await Bun.sleep(40)
      count++
    }
    expect(count).toBe(3)
  })
})

describe('a compressed body', () => {
  const text = '{"ä":"日本語 🙂"}'.repeat(1000)
  const encoded = {
    gzip: gzipSync(text),
    'x-gzip': gzipSync(text),
    deflate: deflateSync(text),
    Deflate: deflateRawSync(text),
    br: brotliCompressSync(text),
    zstd: zstdCompressSync(text),
    identity: Buffer.from(text),
  }

  function compressedRequest(encoding: string, bytes: Uint8Array): Request {
    const headers = { 'content-encoding': encoding, 'content-length': String(bytes.length) }
    return new Request('http://localhost/', { method: 'POST', headers, body: bytes })
  }

  test.each(Object.entries(encoded))('is read as its text: %s', async (encoding, bytes) => {
    const seen: string[] = []
    const read = await readBodyText(compressedRequest(encoding, bytes), limits, (part) => seen.push(part))
    expect(read).toBe(text)
    expect(seen.join('')).toBe(text)
  })

  test('is read as it arrives, in any chunks', async () => {
    const single = [...gzipSync('{"a":1}')].map((byte) => new Uint8Array([byte]))
    const request = requestOf(single)
    request.headers.set('content-encoding', 'gzip')
    expect(await readBodyText(request, limits)).toBe('{"a":1}')
  })

  test('is 415 with another encoding, or with several', async () => {
    for (const encoding of ['compress', 'gzip, br', 'constructor']) {
      const error = await captureError(readBodyText(compressedRequest(encoding, new Uint8Array(1)), limits))
      expect([error.row.status, error.headers['accept-encoding']]).toEqual([415, 'gzip, deflate, br, zstd'])
    }
  })

  test.each(['gzip', 'deflate', 'br', 'zstd'] as const)(
    'that is broken or cut is 400: %s',
    async (encoding) => {
      const cut = encoded[encoding].subarray(0, encoded[encoding].length - 10)
      for (const bytes of [Buffer.alloc(100, 0xff), cut]) {
        const error = await captureError(readBodyText(compressedRequest(encoding, bytes), limits))
        expect([error.row.status, error.message]).toEqual([400, `body: is not valid ${encoding} data`])
      }
    },
  )

  test('of zstd may have several frames, with and without checksums', async () => {
    const checked = zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString('hex')
    const bytes = Buffer.concat([checked, skippable, zstdCompressSync(noise), zstdCompressSync('')])
    expect(await readBodyText(compressedRequest('zstd', bytes), limits)).toBe(text + noise)
    const frames = new ZstdFrames()
    for (const byte of bytes) frames.add(new Uint8Array([byte]))
    expect(frames.isComplete).toBe(true)
  })

  test('S13 is 413 once its text is too long, without the rest of it in memory', async () => {
    // 256 MB of zeros, of which 1 MB is allowed.
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024), { level: 1 })
    const before = process.memoryUsage().arrayBuffers
    let decoded = 0
    const error = await captureError(
      readBodyText(compressedRequest('gzip', bomb), { ...limits, maxBytes: 2_000_000 }, (part) => {
        decoded += part.length
      }),
    )
    expect([error.row.status, error.metadata.max_bytes]).toEqual([413, 2_000_000])
    expect(decoded).toBeLessThanOrEqual(2_000_000)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024)
  })

  test('S13 a sender that disconnects or is too slow gets the same errors as without compression', async () => {
    const slow = drip(20)
    slow.headers.set('content-encoding', 'gzip')
    const impatient = { ...limits, pace: { idle: 5, bytesPerSecond: 1 } }
    expect((await captureError(readBodyText(slow, impatient))).code).toBe('request_timeout')
  })
})

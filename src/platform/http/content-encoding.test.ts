import { expect, test } from 'bun:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { contentEncodingOf, decodeChunks } from './content-encoding.ts'

const text = 'A body that is sent one byte at a time. '.repeat(20)

async function decode(encoding: string, body: Uint8Array, size = body.length): Promise<string> {
  const name = contentEncodingOf(
    new Request('http://localhost/', { headers: { 'content-encoding': encoding } }),
  )
  async function* split(): AsyncGenerator<Uint8Array, undefined> {
    for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size)
    return undefined
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of decodeChunks(split(), name ?? 'gzip')) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

test.each([
  ['gzip', gzipSync(text)],
  ['deflate', deflateSync(text)],
  ['deflate', deflateRawSync(text)],
  ['br', brotliCompressSync(text)],
  ['zstd', zstdCompressSync(text)],
])('the chunks of %s data may have any size', async (encoding, body) => {
  for (const size of [1, 2, 3, body.length]) expect(await decode(encoding, body, size)).toBe(text)
  await expect(decode(encoding, body.subarray(0, -3), 1)).rejects.toMatchObject({
    message: `body: is not valid ${encoding} data`,
  })
})

/** One byte, with a window of so many bits. */
function zstdFrame(windowLog: number): Uint8Array {
  return new Uint8Array([0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - 10) << 3, 9, 0, 0, 0x78])
}

test('S13 zstd data must not need a window of more than 8 MB', async () => {
  expect(await decode('zstd', zstdFrame(23))).toBe('x')
  for (const windowLog of [24, 27])
    await expect(decode('zstd', zstdFrame(windowLog))).rejects.toMatchObject({ code: 'invalid_request' })
})

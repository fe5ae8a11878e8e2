import { expect, test } from 'bun:test'
import { crc32, inflateSync } from 'node:zlib'
import { readImageSize } from '../../../../platform/media/image-info.ts'
import { drawPicture, type PictureOptions } from './picture.ts'

const options: PictureOptions = { text: 'A', width: 60, height: 60, background: 'auto', seed: 1 }

/** The chunks of a PNG, with their checksums verified. */
function readChunks(png: Uint8Array): Map<string, Buffer> {
  const bytes = Buffer.from(png)
  const chunks = new Map<string, Buffer>()
  let at = 8
  while (at < bytes.length) {
    const end = at + 8 + bytes.readUInt32BE(at)
    expect(bytes.readUInt32BE(end)).toBe(crc32(bytes.subarray(at + 4, end)))
    chunks.set(bytes.toString('latin1', at + 4, at + 8), bytes.subarray(at + 8, end))
    at = end + 4
  }
  return chunks
}

/** The rows of a picture as colors in hexadecimal. */
function readPixels(png: Uint8Array, width: number): string[][] {
  const chunks = readChunks(png)
  const palette = chunks.get('PLTE')!.toString('hex').match(/.{6}/g)!
  const pixels = inflateSync(chunks.get('IDAT')!)
  const rows = Array.from({ length: pixels.length / (width + 1) }, (_, y) => {
    expect(pixels[y * (width + 1)]).toBe(0)
    return pixels.subarray(y * (width + 1) + 1, (y + 1) * (width + 1))
  })
  return rows.map((row) => Array.from(row, (index) => palette[index]!))
}

test('a picture has the size and shows the words', async () => {
  const png = await drawPicture(options)
  expect(readImageSize(png)).toEqual({ type: 'png', width: 60, height: 60 })
  const rows = readPixels(png, 60).map((row) => row.map((color) => (color === 'ffffff' ? '#' : '.')).join(''))
  const letter = rows.filter((row) => row.includes('#')).map((row) => row.slice(27, 32))
  expect(letter).toEqual(['.###.', '#...#', '#...#', '#...#', '#####', '#...#', '#...#'])
})

test('the same words and seed give the same picture, others another background', async () => {
  const png = await drawPicture(options)
  expect(await drawPicture(options)).toEqual(png)
  expect(await drawPicture({ ...options, background: 'opaque' })).toEqual(png)
  const firstPixel = (bytes: Uint8Array) => readPixels(bytes, 60)[0]![0]
  expect(firstPixel(await drawPicture({ ...options, seed: 2 }))).not.toBe(firstPixel(png))
  expect(firstPixel(await drawPicture({ ...options, text: 'B' }))).not.toBe(firstPixel(png))
})

test('a transparent background leaves only the words, in a color', async () => {
  const chunks = readChunks(await drawPicture({ ...options, background: 'transparent' }))
  const alphas = chunks.get('tRNS')!
  expect(alphas.every((alpha) => alpha === 0)).toBe(true)
  const pixels = inflateSync(chunks.get('IDAT')!)
  const opaque = pixels.filter((index) => index >= alphas.length)
  expect(opaque).toHaveLength(18)
  expect(chunks.get('PLTE')!.subarray(-3).toString('hex')).not.toBe('ffffff')
})

test.each([
  ['', 16, 16],
  ['word '.repeat(1000), 300, 200],
  ['x'.repeat(5000), 300, 200],
  ['日本 \u{1f600}\ud800 é\n\t', 97, 33],
  ['words', 1, 1],
  ['words', 4096, 1],
  ['words', 1, 4096],
])('every text fits in every size', async (text, width, height) => {
  const png = await drawPicture({ ...options, text, width, height })
  expect(readImageSize(png)).toMatchObject({ width, height })
  expect(readPixels(png, width)).toHaveLength(height)
})

test.each(['png', 'jpeg', 'webp'] as const)('a %s has the size, the same each time', async (format) => {
  for (const [width, height] of [
    [1, 1],
    [97, 33],
    [640, 360],
  ] as const) {
    const bytes = await drawPicture({ ...options, width, height, format })
    expect(readImageSize(bytes)).toEqual({ type: format, width, height })
    expect(await drawPicture({ ...options, width, height, format })).toEqual(bytes)
  }
})

test('a WebP has every pixel of the PNG', async () => {
  const picture = { ...options, text: 'A red fox', width: 320, height: 180 }
  const decode = async (format: 'png' | 'webp') =>
    new Bun.Image(await drawPicture({ ...picture, format })).png().bytes()
  expect(await decode('webp')).toEqual(await decode('png'))
})

test('a JPEG of lower quality is smaller, and is never transparent', async () => {
  const draw = (quality: number) =>
    drawPicture({ ...options, text: 'Some words', width: 300, height: 300, format: 'jpeg', quality })
  const sizes = [await draw(10), await draw(60), await draw(95)].map((bytes) => bytes.length)
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b))
  expect(new Set(sizes).size).toBe(3)
  const transparent = { ...options, background: 'transparent', format: 'jpeg' } as const
  await expect(drawPicture(transparent)).rejects.toThrow(RangeError)
})

test('S13 the largest picture does not hold the event loop', async () => {
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  count()
  const png = await drawPicture({ ...options, text: 'A large picture', width: 4096, height: 4096 })
  isDone = true
  expect(readImageSize(png)).toMatchObject({ width: 4096, height: 4096 })
  expect(turns).toBeGreaterThan(3)
})

test('sizes outside 1 to 4096 are refused', async () => {
  for (const width of [0, 4097, 1.5, Number.NaN]) {
    await expect(drawPicture({ ...options, width })).rejects.toThrow(RangeError)
  }
})

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { readImageSize } from './image-info.ts'

const png = Buffer.from('89504e470d0a1a0a0000000d49484452000002800000016808060000', 'hex')
const gif = Buffer.from('4749463839618002680100', 'hex')
/** A JPEG with an application segment, fill bytes and a Huffman table before the size. */
const jpeg = Buffer.from('ffd8ffe00004abcdffffc40003ffffc2001108016802800301', 'hex')
const webp = (chunk: string) =>
  Buffer.concat([Buffer.from(`RIFF\0\0\0\0WEBP${chunk}`, 'latin1'), Buffer.alloc(8)])
const extended = webp('VP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\x67\x01\0')
const lossy = webp('VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\x68\x01')
const lossless = Buffer.concat([
  webp('VP8L\0\0\0\0').subarray(0, 20),
  Buffer.of(0x2f, 0, 0, 0, 0),
  Buffer.alloc(8),
])
lossless.writeUInt32LE(639 | (359 << 14), 21)

test.each([
  ['png', png],
  ['gif', gif],
  ['jpeg', jpeg],
  ['webp', extended],
  ['webp', lossy],
  ['webp', lossless],
] as const)('the size of a %s is read', (type, bytes) => {
  expect(readImageSize(bytes)).toEqual({ type, width: 640, height: 360 })
})

test('other files, cut headers and empty images have no size', () => {
  for (const bytes of [Buffer.alloc(0), Buffer.from('%PDF-1.7'), png.subarray(0, 20), jpeg.subarray(0, 16)]) {
    expect(readImageSize(bytes)).toBeNull()
  }
  const empty = Buffer.from(png)
  empty.writeUInt32BE(0, 16)
  expect(readImageSize(empty)).toBeNull()
})

test('no bytes make it throw', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(png, gif, jpeg, extended, lossy, lossless),
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(30),
      (head, tail, cut) => {
        const info = readImageSize(Buffer.concat([head.subarray(0, cut), tail]))
        expect(info === null || info.width > 0).toBe(true)
      },
    ),
  )
})

test('a JPEG of endless small segments is given up', () => {
  const segments = Buffer.alloc(4_000_000)
  for (let at = 0; at < segments.length; at += 4) segments.writeUInt32BE(0xffe00002, at)
  expect(readImageSize(Buffer.concat([Buffer.of(0xff, 0xd8), segments, jpeg.subarray(2)]))).toBeNull()
})

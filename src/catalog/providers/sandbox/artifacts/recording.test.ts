import { describe, expect, test } from 'bun:test'
import { detectAudio } from '../../../../platform/media/audio-info.ts'
import { readOggPage } from '../../../../platform/media/ogg.ts'
import { encodeRecording, type RecordingFormat } from './recording.ts'

const sampleRate = 24_000

function ramp(length: number): Int16Array {
  return Int16Array.from({ length }, (_, index) => ((index * 37) % 65_536) - 32_768)
}

function encode(format: RecordingFormat, blocks: Int16Array[]): Buffer {
  const totalSamples = blocks.reduce((sum, { length }) => sum + length, 0)
  return Buffer.concat([...encodeRecording(format, blocks, { sampleRate, totalSamples })])
}

describe('recordings of the sandbox', () => {
  test.each([
    ['mp3', 'mp3', 576],
    ['aac', 'aac', 1024],
    ['opus', 'ogg', 1],
    ['flac', 'flac', 1],
    ['wav', 'wav', 1],
  ] as const)('%s has the length of its samples', async (format, detected, samplesPerFrame) => {
    const info = await detectAudio(encode(format, [ramp(2400), ramp(4000), ramp(7)]))
    expect(info?.format).toBe(detected)
    const frames = Math.ceil(6407 / samplesPerFrame)
    expect(info?.durationSeconds).toBeCloseTo((frames * samplesPerFrame) / sampleRate, 9)
  })

  test('FLAC has every sample, and the checksums of each frame', () => {
    const blocks = [ramp(2400), ramp(4000), ramp(60_000), ramp(16)]
    const file = encode('flac', blocks)
    let at = 4 + 4 + 34
    let position = 0
    for (const block of blocks) {
      const header = readFlacFrame(file, at)
      expect(header).toMatchObject({ position, blockSize: block.length, subframe: 2 })
      const samples = Int16Array.from(block, (_, index) => file.readInt16BE(header.samplesAt + index * 2))
      expect([...samples]).toEqual([...block])
      const end = header.samplesAt + block.length * 2
      // A checksum over a message and its own checksum is zero.
      expect(divide(file.subarray(at, header.samplesAt - 1), 8, 0x07)).toBe(0)
      expect(divide(file.subarray(at, end + 2), 16, 0x8005)).toBe(0)
      position += block.length
      at = end + 2
    }
    expect(at).toBe(file.length)
  })

  test('Opus has pages with checksums, numbered, the last of them marked', () => {
    const file = encode('opus', [ramp(24_000), ramp(100), ramp(24_000)])
    const pages: { flags: number; number: number }[] = []
    for (let at = 0; at < file.length; ) {
      const page = readOggPage(file, at)
      if (!page) throw new Error(`no page at ${at}`)
      const bytes = Buffer.from(file.subarray(at, page.end))
      const checksum = bytes.readUInt32LE(22)
      bytes.writeUInt32LE(0, 22)
      expect(divide(bytes, 32, 0x04c11db7)).toBe(checksum)
      pages.push({ flags: bytes.readUInt8(5), number: bytes.readUInt32LE(18) })
      at = page.end
    }
    expect(pages.map(({ number }) => number)).toEqual(pages.map((_, index) => index))
    expect(pages.map(({ flags }) => flags)).toEqual([2, 0, 0, 4])
  })
})

/** The header of a frame whose block size has 16 bits, by the specification of FLAC. */
function readFlacFrame(file: Buffer, start: number) {
  expect(file.readUInt32BE(start)).toBe(0xfff97008)
  const first = file.readUInt8(start + 4)
  const length = first < 0x80 ? 1 : Math.clz32(~(first << 24))
  let position = length === 1 ? first : first & (0x7f >> length)
  for (let index = 1; index < length; index++)
    position = position * 64 + (file.readUInt8(start + 4 + index) & 0x3f)
  const at = start + 4 + length
  return {
    position,
    blockSize: file.readUInt16BE(at) + 1,
    subframe: file.readUInt8(at + 3),
    samplesAt: at + 4,
  }
}

/** The remainder of a polynomial division, bit by bit. */
function divide(bytes: Uint8Array, width: number, polynomial: number): number {
  let value = 0n
  for (const byte of bytes) {
    value ^= BigInt(byte) << BigInt(width - 8)
    for (let bit = 0; bit < 8; bit++) {
      const isHigh = (value >> BigInt(width - 1)) & 1n
      value = ((value << 1n) ^ (isHigh ? BigInt(polynomial) : 0n)) & ((1n << BigInt(width)) - 1n)
    }
  }
  return Number(value)
}

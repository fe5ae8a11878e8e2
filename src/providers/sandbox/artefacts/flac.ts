import { BitWriter } from './bit-writer.ts'
import { computeCrc, createCrc } from './crc.ts'

const bitsPerSample = 16
const streamInfoBytes = 34
const headerCrc = createCrc(8, 0x07)
const frameCrc = createCrc(16, 0x8005)
/** Codes of a frame header: the block size follows in 16 bits, the sample rate is that of the file, 16 bits mono. */
const frameLayout = { blockSize: 0b0111, sampleRate: 0b0000, channels: 0b0000, sampleSize: 0b1000 }
/** A subframe whose samples are not compressed. */
const verbatimSubframe = 0b0000_0010

/** A FLAC file of the samples, in frames of varying length without compression. */
export function* encodeFlac(
  blocks: Iterable<Int16Array>,
  { sampleRate, totalSamples }: { sampleRate: number; totalSamples: number },
): Generator<Uint8Array> {
  yield encodeFileHeader(sampleRate, totalSamples)
  let position = 0
  for (const block of blocks) {
    yield encodeFrame(block, position)
    position += block.length
  }
}

/** The signature and the stream information: block sizes at their bounds, without sizes of frames and a checksum. */
function encodeFileHeader(sampleRate: number, totalSamples: number): Buffer {
  const bits = new BitWriter(4 + 4 + streamInfoBytes)
  bits.writeBytes(Buffer.from('fLaC'))
  bits.writeBits(0x80, 8)
  bits.writeBits(streamInfoBytes, 24)
  bits.writeBits(16, 16)
  bits.writeBits(0xffff, 16)
  bits.writeBytes(Buffer.alloc(6))
  bits.writeBits(sampleRate, 20)
  bits.writeBits(0, 3)
  bits.writeBits(bitsPerSample - 1, 5)
  bits.writeBits(Math.floor(totalSamples / 2 ** 24), 12)
  bits.writeBits(totalSamples % 2 ** 24, 24)
  bits.writeBytes(Buffer.alloc(16))
  return bits.finish()
}

function encodeFrame(samples: Int16Array, position: number): Buffer {
  const header = encodeFrameHeader(samples.length, position)
  const frame = Buffer.alloc(header.length + 2 + samples.length * 2 + 2)
  header.copy(frame)
  frame[header.length] = computeCrc(headerCrc, header)
  frame[header.length + 1] = verbatimSubframe
  samples.forEach((sample, index) => {
    frame.writeInt16BE(sample, header.length + 2 + index * 2)
  })
  const end = frame.length - 2
  frame.writeUInt16BE(computeCrc(frameCrc, frame.subarray(0, end)), end)
  return frame
}

function encodeFrameHeader(blockSize: number, position: number): Buffer {
  const bits = new BitWriter(16)
  // The sync code, and that frames are numbered by their first sample.
  bits.writeBits(0xfff9, 16)
  bits.writeBits(frameLayout.blockSize, 4)
  bits.writeBits(frameLayout.sampleRate, 4)
  bits.writeBits(frameLayout.channels, 4)
  bits.writeBits(frameLayout.sampleSize, 4)
  bits.writeBytes(encodeNumber(position))
  bits.writeBits(blockSize - 1, 16)
  return bits.finish()
}

/** A number as UTF-8 would encode it, of up to 31 bits. */
function encodeNumber(value: number): Uint8Array {
  if (value < 0x80) return Uint8Array.of(value)
  const following: number[] = []
  let rest = value
  do {
    following.unshift(0x80 | (rest & 0x3f))
    rest >>= 6
    // The first byte has one bit less for every byte that follows.
  } while (rest >= 2 ** (6 - following.length))
  const marker = (0xff00 >> (following.length + 1)) & 0xff
  return Uint8Array.of(marker | rest, ...following)
}

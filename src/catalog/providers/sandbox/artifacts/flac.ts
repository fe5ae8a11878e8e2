import { computeCrc, createCrc } from './crc.ts'

const headerCrc = createCrc(8, 0x07)
const frameCrc = createCrc(16, 0x8005)
/** Frames are numbered by their first sample, the block size follows in 16 bits, the sample rate is that of the file, 16 bits mono. */
const frameStart = Buffer.from('fff97008', 'hex')
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
  const header = Buffer.alloc(42)
  header.write('fLaC')
  header.set(Buffer.from('800000220010ffff', 'hex'), 4)
  // 20 bits for the rate, 3 for the channels and 5 for the sample size, both less one, and 36 for the samples.
  const layout = (BigInt(sampleRate) << 44n) | (15n << 36n) | BigInt(totalSamples)
  header.writeBigUInt64BE(layout, 18)
  return header
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
  const size = Buffer.alloc(2)
  size.writeUInt16BE(blockSize - 1)
  return Buffer.concat([frameStart, encodeNumber(position), size])
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

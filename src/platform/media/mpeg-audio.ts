/** One frame of an MPEG audio stream. */
interface Frame {
  format: 'mp3' | 'aac'
  bytes: number
  seconds: number
}

/** The result of a scan of all frames. */
export interface MpegFrames {
  format: 'mp3' | 'aac'
  seconds: number
}

const framesPerStep = 2000
/** Bytes searched for the next frame at a time. */
const searchBytes = 512
const minHeaderBytes = 7

/** Bit rates in kbit/s by their index from 1, for each version and layer. */
const bitRates = {
  1: {
    1: [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    2: [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    3: [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  },
  2: {
    1: [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    2: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    3: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  },
} as const
const mpegSampleRates = [44_100, 48_000, 32_000]
const aacSampleRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
]

/**
 * Adds up all frames of an MP3 or AAC (ADTS) stream from `start` on. Bytes between frames are skipped, as decoders do,
 * so that the sum is an upper bound. Null unless two frames follow each other, or one is all there is.
 */
export function* readMpegFrames(bytes: Buffer, start: number): Generator<undefined, MpegFrames | null> {
  const first = readMpegFrame(bytes, start)
  if (!first) return null
  const second = start + first.bytes
  if (second !== bytes.length && readMpegFrame(bytes, second)?.format !== first.format) return null
  let seconds = 0
  let at = start
  for (let steps = 1; at < bytes.length; steps++) {
    const frame = readMpegFrame(bytes, at)
    seconds += frame?.seconds ?? 0
    at = frame ? at + frame.bytes : findSync(bytes, at + 1)
    if (steps % framesPerStep === 0) yield
  }
  return { format: first.format, seconds }
}

/** The next place where a frame may start, or where the next step goes on to look for it. */
function findSync(bytes: Buffer, from: number): number {
  const end = Math.min(bytes.length, from + searchBytes)
  let at = from
  while (at < end && !(bytes[at] === 0xff && isSecondByte(bytes[at + 1] ?? 0))) at++
  return at
}

/** The rest of the sync word, and a version that exists. */
function isSecondByte(byte: number): boolean {
  return (byte & 0xe0) === 0xe0 && (byte & 0x18) !== 0x08
}

/** The frame whose header is at `at`; it may reach beyond the bytes. */
export function readMpegFrame(bytes: Buffer, at: number): Frame | null {
  if (at + minHeaderBytes > bytes.length) return null
  const second = bytes[at + 1] ?? 0
  if (bytes[at] !== 0xff || !isSecondByte(second)) return null
  return (second & 0xf6) === 0xf0 ? readAacFrame(bytes, at) : readMp3Frame(bytes, at)
}

function readAacFrame(bytes: Buffer, at: number): Frame | null {
  const sampleRate = aacSampleRates[((bytes[at + 2] ?? 0) >> 2) & 15]
  const length = (bytes.readUIntBE(at + 3, 3) >> 5) & 0x1fff
  const blocks = ((bytes[at + 6] ?? 0) & 3) + 1
  if (!sampleRate || length < minHeaderBytes) return null
  return { format: 'aac', bytes: length, seconds: (blocks * 1024) / sampleRate }
}

/** Layer III, and the other two, which decoders play as well. */
function readMp3Frame(bytes: Buffer, at: number): Frame | null {
  const second = bytes[at + 1] ?? 0
  const third = bytes[at + 2] ?? 0
  const versionBits = (second >> 3) & 3
  const layerBits = (second >> 1) & 3
  if (layerBits === 0) return null
  const version = versionBits === 3 ? 1 : 2
  const layer = (4 - layerBits) as 1 | 2 | 3
  const kilobits = bitRates[version][layer][(third >> 4) - 1]
  const fullRate = mpegSampleRates[(third >> 2) & 3]
  if (!kilobits || !fullRate) return null
  // Version 2 halves the sample rates of version 1, version 2.5 halves them again.
  const sampleRate = fullRate / (versionBits === 3 ? 1 : versionBits === 2 ? 2 : 4)
  const samples = layer === 1 ? 384 : layer === 3 && version === 2 ? 576 : 1152
  const slotBytes = layer === 1 ? 4 : 1
  const slots = Math.floor((samples / 8 / slotBytes) * ((kilobits * 1000) / sampleRate))
  const padding = (third >> 1) & 1
  return { format: 'mp3', bytes: (slots + padding) * slotBytes, seconds: samples / sampleRate }
}

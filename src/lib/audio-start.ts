import { readWavLayout } from './wav.ts'

type AudioFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm'

/** Whether the first bytes of a recording have anything to play: a whole frame, or a sample. */
export function hasAudio(bytes: Uint8Array, format: AudioFormat): boolean {
  return detectors[format](bytes)
}

const detectors: Record<AudioFormat, (bytes: Uint8Array) => boolean> = {
  mp3: (bytes) => hasFrame(bytes, skipTag(bytes), readMpegFrameLength),
  aac: (bytes) => hasFrame(bytes, skipTag(bytes), readAdtsFrameLength),
  opus: hasOggAudio,
  flac: hasFlacAudio,
  wav: hasWavSample,
  pcm: (bytes) => bytes.length >= 2,
}

/** An ID3v2 tag may precede the audio. */
function skipTag(bytes: Uint8Array): number {
  if (!startsWith(bytes, 'ID3') || bytes.length < 10) return 0
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, 10)
  return 10 + ((a & 127) << 21) + ((b & 127) << 14) + ((c & 127) << 7) + (d & 127)
}

/** A decoder skips what is not a frame. */
function hasFrame(
  bytes: Uint8Array,
  start: number,
  readLength: (bytes: Uint8Array, at: number) => number | null,
): boolean {
  for (let at = bytes.indexOf(0xff, start); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const length = readLength(bytes, at)
    if (length !== null && at + length <= bytes.length) return true
  }
  return false
}

const bitRates = {
  mpeg1: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  mpeg2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
}
/** By the version bits: 2.5, reserved, 2, 1. */
const sampleRates = [[11_025, 12_000, 8000], [], [22_050, 24_000, 16_000], [44_100, 48_000, 32_000]]

/** Of an MPEG layer III frame; null if there is none. */
function readMpegFrameLength(bytes: Uint8Array, at: number): number | null {
  const second = bytes[at + 1] ?? 0
  const third = bytes[at + 2] ?? 0
  const version = (second >> 3) & 3
  if ((second & 0xe0) !== 0xe0 || ((second >> 1) & 3) !== 1) return null
  const isMpeg1 = version === 3
  const bitRate = (isMpeg1 ? bitRates.mpeg1 : bitRates.mpeg2)[third >> 4]
  const sampleRate = sampleRates[version]?.[(third >> 2) & 3]
  if (!bitRate || !sampleRate) return null
  const padding = (third >> 1) & 1
  return Math.floor(((isMpeg1 ? 144 : 72) * bitRate * 1000) / sampleRate) + padding
}

/** Of an AAC frame in ADTS; null if there is none. */
function readAdtsFrameLength(bytes: Uint8Array, at: number): number | null {
  if (((bytes[at + 1] ?? 0) & 0xf6) !== 0xf0) return null
  const [fourth = 0, fifth = 0, sixth = 0] = bytes.subarray(at + 3, at + 6)
  const length = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5)
  return length > 7 ? length : null
}

const oggHeaderBytes = 27

/** A page with a position carries audio; the pages of the headers have none. */
function hasOggAudio(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at + oggHeaderBytes <= bytes.length; ) {
    if (!startsWith(bytes.subarray(at), 'OggS')) return false
    const tableEnd = at + oggHeaderBytes + view.getUint8(at + 26)
    const body = bytes.subarray(at + oggHeaderBytes, tableEnd).reduce((sum, size) => sum + size, 0)
    const isWhole = tableEnd + body <= bytes.length
    if (view.getBigInt64(at + 6, true) > 0n && isWhole && body > 0) return true
    at = tableEnd + body
  }
  return false
}

/** After the signature and the blocks of metadata, the first frame. */
function hasFlacAudio(bytes: Uint8Array): boolean {
  if (!startsWith(bytes, 'fLaC')) return false
  for (let at = 4; at + 4 <= bytes.length; ) {
    const [kind = 0, a = 0, b = 0, c = 0] = bytes.subarray(at, at + 4)
    at += 4 + ((a << 16) | (b << 8) | c)
    if (kind >= 128) return bytes[at] === 0xff && ((bytes[at + 1] ?? 0) & 0xfc) === 0xf8
  }
  return false
}

function hasWavSample(bytes: Uint8Array): boolean {
  const layout = readWavLayout(bytes)
  return layout !== null && layout.dataBytes > 0
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return Buffer.from(bytes.subarray(0, text.length)).toString('latin1') === text
}

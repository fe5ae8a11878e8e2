import { runInSlices } from '../time/time-slicer.ts'
import { readMpegFrames } from './mpeg-audio.ts'
import { readOggSeconds } from './ogg.ts'
import { readWavLayout } from './wav.ts'

export type AudioFormat = 'wav' | 'mp3' | 'flac' | 'm4a' | 'ogg' | 'webm' | 'aac'

export interface AudioInfo {
  format: AudioFormat
  /** Exact or an upper bound, as far as the file tells the truth about itself; null when it does not say. */
  durationSeconds: number | null
}

type Steps<T> = Generator<undefined, T>

/** Real files have a dozen. */
const maxBoxes = 1000
const maxTags = 4
/** Encodings of WAV in which every sample has the same length: integers, floats, A-law and mu-law. */
const plainWavEncodings: ReadonlySet<number> = new Set([1, 3, 6, 7])

/** The format of a recording by its first bytes, with its duration; null for anything else. Never throws. */
export async function detectAudio(bytes: Uint8Array): Promise<AudioInfo | null> {
  return runInSlices(detect(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)))
}

function* detect(bytes: Buffer): Steps<AudioInfo | null> {
  if (hasText(bytes, 0, 'RIFF') && hasText(bytes, 8, 'WAVE')) {
    return { format: 'wav', durationSeconds: readWavSeconds(bytes) }
  }
  if (hasText(bytes, 0, 'OggS')) return { format: 'ogg', durationSeconds: yield* readOggSeconds(bytes) }
  if (hasText(bytes, 4, 'ftyp')) return { format: 'm4a', durationSeconds: readMp4Seconds(bytes) }
  // Matroska and WebM: the duration is optional, and recorders in browsers leave it out.
  if (hasText(bytes, 0, '\x1a\x45\xdf\xa3')) return { format: 'webm', durationSeconds: null }
  const start = skipTags(bytes)
  if (hasText(bytes, start, 'fLaC')) return { format: 'flac', durationSeconds: readFlacSeconds(bytes, start) }
  const mpeg = yield* readMpegFrames(bytes, start)
  return mpeg && { format: mpeg.format, durationSeconds: mpeg.seconds }
}

function hasText(bytes: Buffer, at: number, text: string): boolean {
  return at + text.length <= bytes.length && bytes.toString('latin1', at, at + text.length) === text
}

/** Returns the offset of the sound, after ID3v2 tags. Their length has seven bits in each byte. */
export function skipTags(bytes: Buffer): number {
  let at = 0
  for (let tags = 0; tags < maxTags && hasText(bytes, at, 'ID3') && at + 10 <= bytes.length; tags++) {
    const length = bytes.subarray(at + 6, at + 10).reduce((sum, byte) => sum * 128 + (byte & 127), 0)
    const hasFooter = ((bytes[at + 5] ?? 0) & 0x10) !== 0
    at += 10 + length + (hasFooter ? 10 : 0)
  }
  return at
}

function readWavSeconds(bytes: Buffer): number | null {
  const layout = readWavLayout(bytes)
  if (!layout || !plainWavEncodings.has(layout.encoding)) return null
  const { channels, bits, bytesPerFrame, sampleRate, totalDataBytes } = layout
  if (bytesPerFrame === 0 || bytesPerFrame !== (channels * bits) / 8) return null
  return totalDataBytes / bytesPerFrame / sampleRate
}

/** Reads the duration from the STREAMINFO block, which is always the first. */
function readFlacSeconds(bytes: Buffer, start: number): number | null {
  const at = start + 18
  if (at + 8 > bytes.length || ((bytes[start + 4] ?? 0) & 127) !== 0) return null
  const sampleRate = bytes.readUIntBE(at, 3) >> 4
  const samples = ((bytes[at + 3] ?? 0) & 15) * 2 ** 32 + bytes.readUInt32BE(at + 4)
  return sampleRate === 0 || samples === 0 ? null : samples / sampleRate
}

/** Reads the duration from the movie header; null when fragments follow, which it does not count. */
function readMp4Seconds(bytes: Buffer): number | null {
  const movie = findBox(bytes, 0, bytes.length, 'moov')
  if (!movie || findBox(bytes, movie.start, movie.end, 'mvex')) return null
  const header = findBox(bytes, movie.start, movie.end, 'mvhd')
  if (!header || header.end - header.start < 32) return null
  const isLong = bytes[header.start] === 1
  const timescale = bytes.readUInt32BE(header.start + (isLong ? 20 : 12))
  const duration = isLong
    ? Number(bytes.readBigUInt64BE(header.start + 24))
    : bytes.readUInt32BE(header.start + 16)
  const isUnknown = duration === 0 || duration === (isLong ? 2 ** 64 : 2 ** 32 - 1)
  return timescale === 0 || isUnknown ? null : duration / timescale
}

/** The content of the first box of a type. */
function findBox(
  bytes: Buffer,
  from: number,
  to: number,
  type: string,
): { start: number; end: number } | null {
  let at = from
  for (let boxes = 0; boxes < maxBoxes && at + 8 <= to; boxes++) {
    const short = bytes.readUInt32BE(at)
    const isLong = short === 1 && at + 16 <= to
    const size = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : short === 0 ? to - at : short
    const headerBytes = isLong ? 16 : 8
    if (size < headerBytes || at + size > to) return null
    if (hasText(bytes, at + 4, type)) return { start: at + headerBytes, end: at + size }
    at += size
  }
  return null
}

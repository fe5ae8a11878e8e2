import { runInSlices } from '../time/time-slicer.ts'

export interface WavFormat {
  sampleRate: number
  channels: number
  /** Per sample. */
  bits: number
}

export interface WavAudio extends WavFormat {
  /** Integer samples, little endian, the channels interleaved. */
  data: Uint8Array
}

/** The `fmt ` chunk and the position of the samples; also for encodings that `parseWav` does not read. */
export interface WavLayout extends WavFormat {
  /** WAVE_FORMAT_PCM is 1. */
  encoding: number
  bytesPerFrame: number
  dataStart: number
  /** Bytes of the first data chunk, at most to the end of the file. */
  dataBytes: number
  /** Bytes of all data chunks: decoders play them one after the other. */
  totalDataBytes: number
}

const headerBytes = 44
const pcmEncoding = 1
const extensibleEncoding = 0xfffe
const maxSampleRate = 768_000
const maxChannels = 32
/** Recorders write a handful; more is not a recording. */
const maxChunks = 1000
const framesPerStep = 32_768

/** The header of PCM samples. `dataBytes` is null when the length is not known yet, as in a stream. */
export function encodeWavHeader(
  { sampleRate, channels, bits }: WavFormat,
  dataBytes: number | null,
): Uint8Array {
  const bytesPerFrame = (channels * bits) / 8
  const header = Buffer.alloc(headerBytes)
  header.write('RIFF', 0)
  header.writeUInt32LE(dataBytes === null ? 0xffffffff : dataBytes + headerBytes - 8, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(pcmEncoding, 20)
  header.writeUInt16LE(channels, 22)
  header.writeUInt32LE(sampleRate, 24)
  header.writeUInt32LE(sampleRate * bytesPerFrame, 28)
  header.writeUInt16LE(bytesPerFrame, 32)
  header.writeUInt16LE(bits, 34)
  header.write('data', 36)
  header.writeUInt32LE(dataBytes ?? 0xffffffff, 40)
  return header
}

/** The samples of an integer PCM file; null when the bytes are anything else. */
export function parseWav(bytes: Uint8Array): WavAudio | null {
  const layout = readWavLayout(bytes)
  if (!layout || layout.encoding !== pcmEncoding) return null
  const { sampleRate, channels, bits, dataStart, dataBytes, bytesPerFrame } = layout
  const wholeFrames = dataBytes - (dataBytes % bytesPerFrame)
  return { sampleRate, channels, bits, data: bytes.subarray(dataStart, dataStart + wholeFrames) }
}

/** The samples mixed down to one channel; null unless they have 16 bits. */
export async function mixToMono({ channels, bits, data }: WavAudio): Promise<Int16Array | null> {
  if (bits !== 16) return null
  // A copy, because samples must start at an even address.
  if (channels === 1) return new Int16Array(new Uint8Array(data).buffer)
  return runInSlices(mixChannels(data, channels))
}

function* mixChannels(data: Uint8Array, channels: number): Generator<undefined, Int16Array> {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const mono = new Int16Array(data.length / channels / 2)
  for (let frame = 0; frame < mono.length; frame++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) {
      sum += view.getInt16((frame * channels + channel) * 2, true)
    }
    mono[frame] = Math.round(sum / channels)
    if (frame % framesPerStep === framesPerStep - 1) yield
  }
  return mono
}

/** Locates the samples of a RIFF/WAVE file; null when it is not one or has no usable format. */
export function readWavLayout(bytes: Uint8Array): WavLayout | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (!hasName(bytes, 0, 'RIFF') || !hasName(bytes, 8, 'WAVE')) return null
  let format: Pick<WavLayout, 'encoding' | 'channels' | 'sampleRate' | 'bits' | 'bytesPerFrame'> | null = null
  let layout: WavLayout | null = null
  let at = 12
  for (let chunks = 0; at + 8 <= bytes.length; chunks++) {
    if (chunks === maxChunks) return null
    const start = at + 8
    const declared = view.getUint32(at + 4, true)
    const size = Math.min(declared, bytes.length - start)
    if (hasName(bytes, at, 'fmt ')) format ??= readFormat(view, start, size)
    else if (hasName(bytes, at, 'data') && format) {
      // A recorder that did not finish leaves 0: the samples reach to the end.
      const dataBytes = declared === 0 ? bytes.length - start : size
      layout ??= { ...format, dataStart: start, dataBytes, totalDataBytes: 0 }
      layout.totalDataBytes += dataBytes
      if (declared === 0) return layout
    }
    at = start + size + (size % 2)
  }
  return layout
}

function readFormat(
  view: DataView,
  start: number,
  size: number,
): Pick<WavLayout, 'encoding' | 'channels' | 'sampleRate' | 'bits' | 'bytesPerFrame'> | null {
  if (size < 16) return null
  const declared = view.getUint16(start, true)
  const isExtensible = declared === extensibleEncoding && size >= 40
  const channels = view.getUint16(start + 2, true)
  const sampleRate = view.getUint32(start + 4, true)
  const bytesPerFrame = view.getUint16(start + 12, true)
  const bits = view.getUint16(start + 14, true)
  if (channels < 1 || channels > maxChannels || sampleRate < 1 || sampleRate > maxSampleRate) return null
  // A compressed encoding has a block of many samples here.
  const encoding = isExtensible ? view.getUint16(start + 24, true) : declared
  if (
    encoding === pcmEncoding &&
    (![8, 16, 24, 32].includes(bits) || bytesPerFrame !== (channels * bits) / 8)
  )
    return null
  return { encoding, channels, sampleRate, bits, bytesPerFrame }
}

function hasName(bytes: Uint8Array, at: number, name: string): boolean {
  if (at + name.length > bytes.length) return false
  for (let index = 0; index < name.length; index++) {
    if (bytes[at + index] !== name.charCodeAt(index)) return false
  }
  return true
}

import { encodeWavHeader } from '../../../../platform/media/wav.ts'
import { samplesPerAacFrame, silentAacFrame } from './aac.ts'
import { encodeFlac } from './flac.ts'
import { encodeSilentOpus } from './ogg-opus.ts'

/** Formats of which every decoder reads what `encodeRecording` writes. */
export type RecordingFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm'

interface Layout {
  /** 24 kHz: the headers of MP3 and AAC name it. */
  sampleRate: 24_000
  totalSamples: number
}

type Encoder = (blocks: Iterable<Int16Array>, layout: Layout) => Iterable<Uint8Array>

/** A recording in a format, in as many parts as it has blocks of samples, or more. */
export function encodeRecording(
  format: RecordingFormat,
  blocks: Iterable<Int16Array>,
  layout: Layout,
): Iterable<Uint8Array> {
  return encoders[format](blocks, layout)
}

const samplesPerMp3Frame = 576
/** MPEG-2 layer III without a checksum, 8 kbit/s, 24 kHz, mono. Side information of zeros is silence. */
const silentMp3Frame = Buffer.from('fff314c0'.padEnd(48, '0'), 'hex')
/** MPEG-4 AAC-LC without a checksum, 24 kHz, mono; 11 bytes with the header. */
const silentAdtsFrame = Buffer.concat([Buffer.from('fff15840017ffc', 'hex'), silentAacFrame])

/** A lossy encoder would be thousands of lines: these formats have the length of the recording, and no sound. */
const encoders: Record<RecordingFormat, Encoder> = {
  pcm: encodePcm,
  wav: encodeWav,
  flac: encodeFlac,
  opus: encodeSilentOpus,
  mp3: (blocks, layout) => repeatFrame(blocks, layout, silentMp3Frame, samplesPerMp3Frame),
  aac: (blocks, layout) => repeatFrame(blocks, layout, silentAdtsFrame, samplesPerAacFrame),
}

function* encodePcm(blocks: Iterable<Int16Array>): Generator<Uint8Array> {
  for (const { buffer, byteOffset, byteLength } of blocks)
    yield new Uint8Array(buffer, byteOffset, byteLength)
}

function* encodeWav(
  blocks: Iterable<Int16Array>,
  { sampleRate, totalSamples }: Layout,
): Generator<Uint8Array> {
  yield encodeWavHeader({ sampleRate, channels: 1, bits: 16 }, totalSamples * 2)
  yield* encodePcm(blocks)
}

/** The frames that fill the length of the blocks, the last of them rounded up. */
function* repeatFrame(
  blocks: Iterable<Int16Array>,
  { totalSamples }: Layout,
  frame: Buffer,
  samplesPerFrame: number,
): Generator<Uint8Array> {
  let samples = 0
  let written = 0
  for (const block of blocks) {
    samples += block.length
    const exact = samples / samplesPerFrame
    const due = samples >= totalSamples ? Math.ceil(exact) : Math.floor(exact)
    if (due > written) yield Buffer.concat(Array<Buffer>(due - written).fill(frame))
    written = due
  }
}

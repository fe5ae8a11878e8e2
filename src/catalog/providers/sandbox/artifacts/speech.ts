import { crc32 } from 'node:zlib'
import { runInSlices } from '../../../../platform/time/time-slicer.ts'
import { readSymbol, speechSampleRate, type Voice, voices, writeSymbol } from './tones.ts'

export interface SpeechOptions {
  voice: Voice
  /** A factor from 0.25 to 4. */
  speed: number
}

export interface Transcript {
  /** Null when the recording is not from `speak`. */
  text: string | null
  /** Times are in seconds from the start of the recording. */
  words: TimedWord[]
  /** Seconds of the recording. */
  duration: number
}

export interface TimedWord {
  word: string
  start: number
  end: number
}

export const minSpeed = 0.25
export const maxSpeed = 4

/**
 * A recording is a header of symbols of fixed length, then the text in UTF-8 at the length that follows from the
 * speed, then a checksum. The header: the mark, the voice, the length of a symbol, the bytes of text, a checksum.
 */
const headerMark = Buffer.from('5aa53cc3', 'hex')
const headerBytes = headerMark.length + 1 + 2 + 4 + 2
const headerSymbolSamples = 480
const headerVoice: Voice = 'middle'
const headerSamples = headerBytes * headerSymbolSamples
const checksumBytes = 4
/** 15 characters a second at normal speed. */
const symbolSamplesAtNormalSpeed = speechSampleRate / 15
/** Samples of a chunk, at least: a tenth of a second. */
const minChunkSamples = speechSampleRate / 10
/** Silence before the first sound is skipped up to here. */
const maxLeadSeconds = 60
/** The share of the loudest sample at which sound starts. */
const onsetShare = 0.05
/** Resampling moves the start by less than this; tried in turn, in seconds. */
const startOffsets = [0, -0.0005, 0.0005, -0.001, 0.001]
const samplesPerStep = 100_000
const symbolsPerStep = 8

/** The samples that `speak` yields in all, known in advance for the header of a file. */
export function countSpeechSamples(text: string, speed: number): number {
  return headerSamples + (Buffer.byteLength(text) + checksumBytes) * countSymbolSamples(speed)
}

function countSymbolSamples(speed: number): number {
  if (!(speed >= minSpeed && speed <= maxSpeed)) {
    throw new RangeError(`speed must be between ${minSpeed} and ${maxSpeed}`)
  }
  return Math.round(symbolSamplesAtNormalSpeed / speed)
}

/** The text as tones, 24 kHz mono. Its length follows the text, and `listen` reads the text back. */
export function* speak(text: string, { voice, speed }: SpeechOptions): Generator<Int16Array> {
  const symbolSamples = countSymbolSamples(speed)
  const body = Buffer.from(text)
  yield* writeSymbols(buildHeader(voice, symbolSamples, body.length), headerSymbolSamples, headerVoice)
  yield* writeSymbols(body, symbolSamples, voice)
  const checksum = Buffer.alloc(checksumBytes)
  checksum.writeUInt32BE(crc32(body))
  yield* writeSymbols(checksum, symbolSamples, voice)
}

function buildHeader(voice: Voice, symbolSamples: number, bytes: number): Buffer {
  const header = Buffer.alloc(headerBytes)
  headerMark.copy(header)
  header.writeUInt8(voices.indexOf(voice), 4)
  header.writeUInt16BE(symbolSamples, 5)
  header.writeUInt32BE(bytes, 7)
  header.writeUInt16BE(crc32(header.subarray(0, 11)) & 0xffff, 11)
  return header
}

function* writeSymbols(bytes: Buffer, symbolSamples: number, voice: Voice): Generator<Int16Array> {
  const perChunk = Math.ceil(minChunkSamples / symbolSamples)
  for (let at = 0; at < bytes.length; at += perChunk) {
    const piece = bytes.subarray(at, at + perChunk)
    const samples = new Int16Array(piece.length * symbolSamples)
    piece.forEach((byte, index) => {
      writeSymbol(samples.subarray(index * symbolSamples, (index + 1) * symbolSamples), byte, voice)
    })
    yield samples
  }
}

/** Reads the text of a recording of `speak`, whole or with silence around it, at any sample rate from 8 kHz. */
export async function listen(samples: Int16Array, sampleRate: number): Promise<Transcript> {
  return runInSlices(readRecording(samples, sampleRate))
}

interface Header {
  voice: Voice
  symbolSeconds: number
  bytes: number
  /** The end of the header, where the text begins, in seconds. */
  end: number
}

function* readRecording(samples: Int16Array, sampleRate: number): Generator<undefined, Transcript> {
  const duration = samples.length / sampleRate
  const foreign = { text: null, words: [], duration }
  const onset = yield* findOnset(samples, sampleRate)
  const header = onset === null ? null : findHeader(samples, sampleRate, onset)
  if (!header) return foreign
  const { voice, symbolSeconds, end } = header
  const count = header.bytes + checksumBytes
  if (end + (count - 1) * symbolSeconds > duration) return foreign
  const bytes = Buffer.alloc(count)
  for (let index = 0; index < count; index++) {
    const byte = readSymbol(samples, sampleRate, end + (index + 0.5) * symbolSeconds, voice)
    if (byte === null) return foreign
    bytes[index] = byte
    if (index % symbolsPerStep === symbolsPerStep - 1) yield
  }
  const body = bytes.subarray(0, header.bytes)
  if (crc32(body) !== bytes.readUInt32BE(header.bytes)) return foreign
  const text = body.toString()
  return { text, words: yield* timeWords(text, end, symbolSeconds), duration }
}

/** Finds the time of the first sound, in seconds; null for silence. */
function* findOnset(samples: Int16Array, sampleRate: number): Generator<undefined, number | null> {
  const lead = samples.subarray(0, maxLeadSeconds * sampleRate)
  let peak = 0
  for (let at = 0; at < lead.length; at += samplesPerStep) {
    for (const sample of lead.subarray(at, at + samplesPerStep)) peak = Math.max(peak, Math.abs(sample))
    yield
  }
  if (peak === 0) return null
  for (let at = 0; at < lead.length; at += samplesPerStep) {
    const piece = lead.subarray(at, at + samplesPerStep)
    const found = piece.findIndex((sample) => Math.abs(sample) > peak * onsetShare)
    if (found >= 0) return (at + found) / sampleRate
    yield
  }
  return null
}

function findHeader(samples: Int16Array, sampleRate: number, onset: number): Header | null {
  for (const offset of startOffsets) {
    const header = readHeader(samples, sampleRate, onset + offset)
    if (header) return header
  }
  return null
}

function readHeader(samples: Int16Array, sampleRate: number, start: number): Header | null {
  const bytes = Buffer.alloc(headerBytes)
  for (let index = 0; index < headerBytes; index++) {
    const centre = start + ((index + 0.5) * headerSymbolSamples) / speechSampleRate
    const byte = readSymbol(samples, sampleRate, centre, headerVoice)
    if (byte === null || (index < headerMark.length && byte !== headerMark[index])) return null
    bytes[index] = byte
  }
  const voice = voices[bytes.readUInt8(4)]
  if (!voice || (crc32(bytes.subarray(0, 11)) & 0xffff) !== bytes.readUInt16BE(11)) return null
  return {
    voice,
    symbolSeconds: bytes.readUInt16BE(5) / speechSampleRate,
    bytes: bytes.readUInt32BE(7),
    end: start + headerSamples / speechSampleRate,
  }
}

/** The time of a word is the time of its bytes. */
function* timeWords(text: string, start: number, symbolSeconds: number): Generator<undefined, TimedWord[]> {
  const words: TimedWord[] = []
  let seconds = start
  for (const [index, piece] of text.split(/(\s+)/).entries()) {
    const end = seconds + Buffer.byteLength(piece) * symbolSeconds
    // Every second piece is the space between two words.
    if (index % 2 === 0 && piece) words.push({ word: piece, start: roundTime(seconds), end: roundTime(end) })
    seconds = end
    if (index % 1000 === 999) yield
  }
  return words
}

function roundTime(seconds: number): number {
  return Math.round(seconds * 1000) / 1000
}

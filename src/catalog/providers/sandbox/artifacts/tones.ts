/**
 * Bytes as sound: each byte is one symbol, two sines at once, the first for its low four bits and the second for its
 * high four bits, as a telephone keypad does it. All frequencies are multiples of the spacing, so that over one period
 * of the spacing they do not disturb each other, and below 3.2 kHz, so that a sample rate of 8 kHz preserves them.
 */
export type Voice = 'low' | 'middle' | 'high'

export const speechSampleRate = 24_000
export const voices: readonly Voice[] = ['low', 'middle', 'high']

const spacingHz = 80
const tonesPerGroup = 16
const lowestTones: Record<Voice, number> = { low: 4, middle: 6, high: 8 }
const amplitude = 8000
/** Spaces and punctuation are quieter than letters, for the rhythm of words. */
const quietAmplitude = 2500
/** Part of a symbol that fades in, and the same part that fades out. */
const fadeShare = 0.08
/** A symbol of which the two tones have less of the energy is not one of ours. */
const minToneShare = 0.5

/** Writes the symbol of a byte over all of `samples`. */
export function writeSymbol(samples: Int16Array, byte: number, voice: Voice): void {
  const [low, high] = frequenciesOf(byte, voice)
  const lowStep = (2 * Math.PI * low) / speechSampleRate
  const highStep = (2 * Math.PI * high) / speechSampleRate
  const volume = byte > 0x40 ? amplitude : quietAmplitude
  const fade = samples.length * fadeShare
  for (let at = 0; at < samples.length; at++) {
    const gain = Math.min(1, (at + 1) / fade, (samples.length - at) / fade)
    samples[at] = Math.round(volume * gain * (Math.sin(lowStep * at) + Math.sin(highStep * at)))
  }
}

function frequenciesOf(byte: number, voice: Voice): [number, number] {
  const first = lowestTones[voice]
  return [(first + (byte & 15)) * spacingHz, (first + tonesPerGroup + (byte >> 4)) * spacingHz]
}

/** The byte of the symbol around `centre` (in seconds); null when no tones are there. */
export function readSymbol(
  samples: Int16Array,
  sampleRate: number,
  centre: number,
  voice: Voice,
): number | null {
  const length = Math.round(sampleRate / spacingHz)
  const start = Math.round(centre * sampleRate - length / 2)
  if (start < 0 || start + length > samples.length) return null
  const window = samples.subarray(start, start + length)
  const first = lowestTones[voice]
  const low = findLoudest(window, sampleRate, first)
  const high = findLoudest(window, sampleRate, first + tonesPerGroup)
  const energy = window.reduce((sum, sample) => sum + sample * sample, 0)
  // A sine with all of the energy has a power of energy times half the length.
  const share = (low.power + high.power) / ((energy * length) / 2)
  return share >= minToneShare ? low.tone | (high.tone << 4) : null
}

function findLoudest(window: Int16Array, sampleRate: number, first: number): { tone: number; power: number } {
  let loudest = { tone: 0, power: -1 }
  for (let tone = 0; tone < tonesPerGroup; tone++) {
    const power = measurePower(window, ((first + tone) * spacingHz) / sampleRate)
    if (power > loudest.power) loudest = { tone, power }
  }
  return loudest
}

/** The power at one frequency (in cycles per sample), by Goertzel's algorithm. */
function measurePower(window: Int16Array, frequency: number): number {
  const factor = 2 * Math.cos(2 * Math.PI * frequency)
  let last = 0
  let beforeLast = 0
  for (const sample of window) {
    const next = sample + factor * last - beforeLast
    beforeLast = last
    last = next
  }
  return last * last + beforeLast * beforeLast - factor * last * beforeLast
}

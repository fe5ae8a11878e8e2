import { BitWriter } from './bit-writer.ts'

/** AAC-LC, 48 kHz, mono: what MP4 players expect. */
export const aacSampleRate = 48_000
export const samplesPerAacFrame = 1024
/** AudioSpecificConfig: object type 2, rate index 3, one channel. */
export const aacConfig = Buffer.from('1188', 'hex')

/** The spectral band of the tone, which has four lines; the third is at 434 Hz. */
const toneBand = 4
/** Code words of codebook 1 for four lines: none, and the third as plus or minus one. */
const toneCodes = { plus: 0x16, minus: 0x15 }
const toneGain = 190
/**
 * The signs that a steady tone has in successive frames: its phase advances by a quarter turn (and whole turns) each.
 */
const toneSigns = ['plus', 'minus', 'minus', 'plus'] as const

/** The frame with a number: part of a beep, or silence. */
export function encodeAacFrame(number: number, isBeep: boolean): Buffer {
  const bits = new BitWriter(16)
  // A single channel element with tag 0.
  bits.writeBits(0, 7)
  bits.writeBits(isBeep ? toneGain : 0, 8)
  // One long window.
  bits.writeBits(0, 4)
  const bands = isBeep ? toneBand + 1 : 0
  bits.writeBits(bands, 6)
  bits.writeBits(0, 1)
  if (isBeep) {
    // All bands with codebook 1, with the same scale factor.
    bits.writeBits(1, 4)
    bits.writeBits(bands, 5)
    bits.writeBits(0, bands)
  }
  // No pulses, noise shaping or gain control.
  bits.writeBits(0, 3)
  if (isBeep) {
    bits.writeBits(0, toneBand)
    bits.writeBits(toneCodes[toneSigns[number % 4] ?? 'plus'], 5)
  }
  bits.writeBits(0b111, 3)
  return bits.finish()
}

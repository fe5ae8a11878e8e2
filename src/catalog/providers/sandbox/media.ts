import { encodeWavHeader } from '../../../platform/media/wav.ts'

/** One gray pixel. */
export const greyPixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=='

const sampleRate = 8000
const toneMs = 100
const toneHz = 440

/** A short tone as raw samples that can be played while streaming: 16 bit, little endian, mono. */
function buildToneSamples(): Uint8Array {
  const count = (sampleRate * toneMs) / 1000
  const view = new DataView(new ArrayBuffer(count * 2))
  for (let i = 0; i < count; i++) {
    view.setInt16(i * 2, Math.round(8000 * Math.sin((2 * Math.PI * toneHz * i) / sampleRate)), true)
  }
  return new Uint8Array(view.buffer)
}

/** The tone in base64: bare samples for `pcm16`, for everything else a WAV file. */
export function buildTone(format: string | undefined): { format: string; data: string } {
  const body = buildToneSamples()
  if (format === 'pcm16') return { format, data: Buffer.from(body).toString('base64') }
  const header = encodeWavHeader({ sampleRate, channels: 1, bits: 16 }, body.length)
  return { format: 'wav', data: Buffer.concat([header, body]).toString('base64') }
}

/** One grey pixel. */
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
  return { format: 'wav', data: Buffer.concat([buildWavHeader(body.length), body]).toString('base64') }
}

function buildWavHeader(bytes: number): Uint8Array {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + bytes, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(sampleRate, 24)
  header.writeUInt32LE(sampleRate * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(bytes, 40)
  return header
}

import { speak } from '../../src/catalog/providers/sandbox/artifacts/speech.ts'
import { speechSampleRate } from '../../src/catalog/providers/sandbox/artifacts/tones.ts'
import { encodeWavHeader } from '../../src/platform/media/wav.ts'

/** A WAV file in which the sandbox says a text. */
export function speakWav(text: string): Uint8Array<ArrayBuffer> {
  const samples = [...speak(text, { voice: 'middle', speed: 1 })].map((chunk) => Buffer.from(chunk.buffer))
  return buildWav(Buffer.concat(samples))
}

/** A WAV file of silence. */
export function silentWav(seconds: number): Uint8Array<ArrayBuffer> {
  return buildWav(Buffer.alloc(seconds * speechSampleRate * 2))
}

function buildWav(data: Buffer): Uint8Array<ArrayBuffer> {
  const format = { sampleRate: speechSampleRate, channels: 1, bits: 16 }
  return new Uint8Array(Buffer.concat([encodeWavHeader(format, data.length), data]))
}

/** Encodes a recording for JSON requests. */
export function inputAudio(wav: Uint8Array): { data: string; format: 'wav' } {
  return { data: Buffer.from(wav).toString('base64'), format: 'wav' }
}

export function audioFile(wav: Uint8Array<ArrayBuffer>, name = 'speech.wav', type = 'audio/wav'): File {
  return new File([wav], name, { type })
}

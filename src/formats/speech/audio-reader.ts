import type { SpeechEvent } from '../call/speech.ts'
import type { SpeechReader } from './wire-format.ts'

/** Reads a body that is the audio itself. Its end is that of the reply: a broken connection is an error of the transport. */
export class AudioReader implements SpeechReader {
  readonly #sampleRate: number | undefined

  constructor(contentType: string) {
    this.#sampleRate = readSampleRate(contentType)
  }

  read(bytes: Uint8Array): SpeechEvent[] {
    const rate = this.#sampleRate
    return [{ type: 'audio-delta', bytes, ...(rate !== undefined && { sampleRate: rate }) }]
  }

  end(): SpeechEvent[] {
    return [{ type: 'reply-end' }]
  }
}

/** JSON and texts are errors or other replies, whatever the status says. */
export function isAudioType(contentType: string): boolean {
  return !/^(?:application\/(?:\w+\+)?json|text\/)/i.test(contentType)
}

const maxSampleRate = 192_000

/** Reads the sample rate from a type such as `audio/L16;codec=pcm;rate=24000`. */
export function readSampleRate(contentType: string): number | undefined {
  const rate = Number(/;\s*rate=(\d{4,6})\b/i.exec(contentType)?.[1] ?? Number.NaN)
  return rate <= maxSampleRate ? rate : undefined
}

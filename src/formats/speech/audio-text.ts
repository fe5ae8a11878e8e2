import type { SpeechEvent } from '../call/speech.ts'

/** Characters of base64 or hexadecimal digits: a multiple of four. */
const sliceLength = 64 * 1024

/** The audio of a whole reply, decoded slice by slice, because a long one has tens of megabytes. */
export function* decodeAudioText(
  text: string,
  encoding: 'base64' | 'hex',
  sampleRate?: number,
): Generator<SpeechEvent> {
  for (let at = 0; at < text.length; at += sliceLength)
    yield {
      type: 'audio-delta',
      bytes: Buffer.from(text.slice(at, at + sliceLength), encoding),
      ...(sampleRate !== undefined && { sampleRate }),
    }
}

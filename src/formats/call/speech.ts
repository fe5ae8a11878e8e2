import type { SpeechFormat } from '../vocabulary.ts'
import type { UpstreamFailure } from './failure.ts'
import type { Usage } from './usage.ts'

/** A request for speech in the gateway's internal form. An absent field was not requested. */
export interface SpeechCall {
  input: string
  format: SpeechFormat
  /** The form in which the client receives the audio: as bytes, or in events that carry it. */
  delivery: 'audio' | 'events'
  voice?: string
  /** `voice` is the id of a voice that the account created. */
  isCustomVoice?: true
  speed?: number
  instructions?: string
  /** A recording whose voice is to be imitated. */
  reference?: VoiceReference
  /** Body fields outside this form. */
  unknown: string[]
}

export interface VoiceReference {
  /** The recording in base64. */
  audio: string
  /** The audio format, such as `wav`. */
  format?: string
  /** The transcript of the recording. */
  text?: string
}

/** An event of a reply. Only `reply-end` makes the reply complete. */
export type SpeechEvent =
  | { type: 'audio-delta'; bytes: Uint8Array; sampleRate?: number }
  | { type: 'usage'; usage: Usage }
  | { type: 'reply-error'; failure: UpstreamFailure }
  | { type: 'reply-end' }

/** The sample rate of PCM in hertz, unless the upstream reports another one. */
export const speechSampleRate = 24_000

/** Counts characters as vendors bill them: one outside the basic plane is one. */
export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

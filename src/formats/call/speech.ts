import type { SpeechFormat } from '../vocabulary.ts'
import type { UpstreamFailure } from './failure.ts'
import type { Usage } from './usage.ts'

/** A request for speech in the gateway's internal form. An absent field was not requested. */
export interface SpeechCall {
  input: string
  format: SpeechFormat
  /** Whether the client receives the audio itself, or events that carry it. */
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
  /** In base64. */
  audio: string
  /** Such as `wav`. */
  format?: string
  /** What is said in the recording. */
  text?: string
}

/** What a reply consists of. Only `reply-end` makes it complete. */
export type SpeechEvent =
  | { type: 'audio-delta'; bytes: Uint8Array; sampleRate?: number }
  | { type: 'usage'; usage: Usage }
  | { type: 'reply-error'; failure: UpstreamFailure }
  | { type: 'reply-end' }

/** Of PCM, unless the upstream says otherwise. */
export const speechSampleRate = 24_000

/** As vendors bill them: a character outside the basic plane is one. */
export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

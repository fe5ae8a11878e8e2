import type { JsonObject } from '../../platform/json/json-values.ts'
import type { AudioFormat } from '../../platform/media/audio-info.ts'
import type { UpstreamFailure } from './failure.ts'
import type { BilledUnits } from './units.ts'
import type { Usage } from './usage.ts'

/** A recording whose content is what it claims to be. */
export interface Recording {
  bytes: Uint8Array<ArrayBuffer>
  format: AudioFormat
  filename: string
  mediaType: string
  /** Milliseconds by the file itself, or estimated from its size. */
  durationMs: number
  /** The longest that the file can be. */
  maxDurationMs: number
}

/** The formats of translations, which do not tell speakers apart. */
export const translationFormats = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const
export const transcriptFormats = [...translationFormats, 'diarized_json'] as const
export type TranscriptFormat = (typeof transcriptFormats)[number]

export const timestampGranularities = ['word', 'segment'] as const
export type TimestampGranularity = (typeof timestampGranularities)[number]

export interface KnownSpeaker {
  name: string
  reference: string
}

/** A request to turn speech into text. An absent field was not requested. */
export interface TranscriptionCall {
  /** Translations are always into English. */
  task: 'transcribe' | 'translate'
  recording: Recording
  /** The format of the response to the client. */
  format: TranscriptFormat
  stream: boolean
  /** Granularities of timestamps, with `verbose_json` only. */
  timestamps: readonly TimestampGranularity[]
  language?: string
  prompt?: string
  temperature?: number
  logprobs?: true
  /** The splitting of the recording: `auto`, or the settings of a voice detection. */
  chunking?: string | JsonObject
  /** Names for speakers, each with a recording of the voice as a data URL. */
  knownSpeakers?: readonly KnownSpeaker[]
  /** Fields outside this form; some formats have options of these names. */
  unknown: Readonly<JsonObject>
}

/** Times are in seconds. */
interface TimeSpan {
  start: number
  end: number
  speaker?: number
}

export interface TranscriptWord extends TimeSpan {
  word: string
  confidence?: number
}

export interface TranscriptSegment extends TimeSpan {
  text: string
  /** The provider's name of the segment. */
  id?: string
  /** The name of the speaker, where the provider reports one instead of a number. */
  speakerName?: string
  seek?: number
  tokens?: number[]
  temperature?: number
  avgLogprob?: number
  compressionRatio?: number
  noSpeechProb?: number
}

export interface TranscriptionReply {
  text: string
  language: string | null
  /** Seconds of the recording; null if the provider does not report them. */
  duration: number | null
  segments: TranscriptSegment[]
  words: TranscriptWord[]
  confidence?: number
  /** Log probabilities in the provider's form. */
  logprobs?: JsonObject[]
  /** Null if the provider reports neither tokens nor seconds. */
  usage: Usage | null
  units: readonly BilledUnits[]
}

/** The events of a streamed reply. The last is `done` or `error`. */
export type TranscriptEvent =
  | { type: 'delta'; text: string; logprobs?: JsonObject[]; segmentId?: string }
  | { type: 'segment'; segment: TranscriptSegment }
  | { type: 'done'; reply: TranscriptionReply }
  | { type: 'error'; failure: UpstreamFailure }

/** Whether the reply must have times: of segments or words, or as subtitles. */
export function needsTimes({ format }: TranscriptionCall): boolean {
  return format !== 'json' && format !== 'text'
}

/** Whether the reply must say who speaks. */
export function needsSpeakers({ format }: TranscriptionCall): boolean {
  return format === 'diarized_json'
}

export function wantsWords({ timestamps }: TranscriptionCall): boolean {
  return timestamps.includes('word')
}

/** The units of a reply: what the provider counted, or the length of the recording. */
export function countAudioUnits({ recording }: TranscriptionCall, seconds: number | null): BilledUnits[] {
  const quantity = seconds === null ? recording.durationMs : Math.round(seconds * 1000)
  return [{ billable: 'input_audio', unit: 'second', quantity, variants: [] }]
}

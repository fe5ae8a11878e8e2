import type { FormField } from '../../platform/http/form-encode.ts'
import type { SseFrame } from '../../platform/http/sse.ts'
import { asNumber, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type {
  TranscriptEvent,
  TranscriptionCall,
  TranscriptionReply,
  TranscriptSegment,
  TranscriptWord,
} from '../call/transcription.ts'
import type { JsonMediaWireFormat } from '../media.ts'

/** A wire format for speech to text. */
export interface TranscriptionWireFormat extends JsonMediaWireFormat<TranscriptionCall, TranscriptionReply> {
  /** Whether it can translate into English. */
  translates: boolean
  /** Whether its models tell speakers apart, unless they declare something else. */
  diarizes: boolean
  /** The names in `provider.options` that are forwarded. None of them changes what is billed. */
  options: readonly string[]
  /** Decodes a streamed reply; absent if replies are whole. */
  createReader?(call: TranscriptionCall): TranscriptReader
}

export interface TranscriptReader {
  read(frame: SseFrame): TranscriptEvent[]
}

export function encodeFile({ recording }: TranscriptionCall): FormField {
  const { filename, mediaType, bytes } = recording
  return { name: 'file', filename, contentType: mediaType, bytes }
}

/** The fields that have a value, as texts. */
export function encodeFields(values: Readonly<Record<string, unknown>>): FormField[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined) return []
    if (Array.isArray(value)) return value.map((item) => ({ name: `${name}[]`, value: encodeValue(item) }))
    return [{ name, value: encodeValue(value) }]
  })
}

export function encodeValue(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The requested fields among those that a format cannot express, by their names in the API. */
export function listDropped(
  call: TranscriptionCall,
  inexpressible: readonly (
    | 'prompt'
    | 'temperature'
    | 'logprobs'
    | 'chunking'
    | 'language'
    | 'knownSpeakers'
  )[],
): string[] {
  const dropped = inexpressible.filter((name) => call[name] !== undefined)
  return [...Object.keys(call.unknown), ...dropped.flatMap((name) => droppedNames[name] ?? name)]
}

const droppedNames: Readonly<Record<string, string | string[]>> = {
  logprobs: 'include',
  chunking: 'chunking_strategy',
  knownSpeakers: ['known_speaker_names', 'known_speaker_references'],
}

/** Longer than any recording: a larger number does not count seconds. */
const maxSeconds = 1_000_000

/** Some vendors send numbers as texts. */
export function asSeconds(value: unknown): number | null {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : asNumber(value)
  return seconds !== undefined && seconds >= 0 && seconds <= maxSeconds ? seconds : null
}

/** `2`, `speaker_2` or `C`. */
export function asSpeaker(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined
  const name = asString(value) ?? ''
  const digits = /(\d{1,6})$/.exec(name)?.[1]
  if (digits) return Number(digits)
  return /^[A-Z]$/.test(name) ? name.charCodeAt(0) - 65 : undefined
}

type Span = Pick<TranscriptWord, 'start' | 'end' | 'speaker'>

/** The times and the speaker of a word or segment; undefined without times. */
export function decodeSpan(value: JsonObject): Span | undefined {
  const [start, end] = [asSeconds(value.start), asSeconds(value.end)]
  if (start === null || end === null) return undefined
  const speaker = asSpeaker(value.speaker ?? value.speaker_id)
  return { start, end: Math.max(start, end), ...(speaker !== undefined && { speaker }) }
}

/** Ends a segment: the end of a sentence, in any script. */
const sentenceEnd = /[.!?…。！？।؟]["'”’)\]]*\s*$/
const maxPauseSeconds = 1.5
const maxSegmentSeconds = 15

/** Joins words into sentences. The text of each word includes the space before or after it. */
export function joinWords(words: readonly (Span & { text: string })[]): TranscriptSegment[] {
  const segments: TranscriptSegment[] = []
  let last: TranscriptSegment | undefined
  for (const { text, ...span } of words) {
    // A space belongs to the word before it.
    const isSpace = text.trim() === ''
    const isContinued =
      last !== undefined &&
      last.speaker === span.speaker &&
      !sentenceEnd.test(last.text.slice(-8)) &&
      span.start - last.end < maxPauseSeconds &&
      span.end - last.start < maxSegmentSeconds
    if (last && (isContinued || isSpace)) {
      last.text += text
      if (!isSpace) last.end = span.end
    } else if (!isSpace) {
      last = { ...span, text }
      segments.push(last)
    }
  }
  return segments.map((segment) => ({ ...segment, text: segment.text.trim() }))
}

import type { SseFrame } from '../../platform/http/sse.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import {
  asCount,
  asNumber,
  asObject,
  asObjects,
  asString,
  firstCount,
  firstFilled,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import {
  countAudioUnits,
  needsSpeakers,
  needsTimes,
  type TranscriptEvent,
  type TranscriptionCall,
  type TranscriptionReply,
  type TranscriptSegment,
  type TranscriptWord,
  wantsWords,
} from '../call/transcription.ts'
import { TokenPool, type Usage, zeroUsage } from '../call/usage.ts'
import { decodeError, decodeFailure } from '../chat/error.ts'
import { hasAnyCount } from '../token-counts.ts'
import {
  asSeconds,
  decodeSpan,
  encodeFields,
  encodeFile,
  listDropped,
  type TranscriptionWireFormat,
} from './wire-format.ts'

/** Clients of this format also send them as fields of the request. */
const openaiOptions = ['languages', 'keywords', 'diarize']

/** OpenAI's format, which most hosts of Whisper share. */
export const openaiTranscriptions: TranscriptionWireFormat = {
  name: 'transcriptions',
  defaults: { headers: {} },
  translates: true,
  diarizes: false,
  options: [...openaiOptions, 'known_speaker_names', 'known_speaker_references'],
  encodeRequest: (call, { model, options }) => {
    const { task, prompt, temperature } = call
    const sent = Object.entries(call.unknown).filter(([name]) => openaiOptions.includes(name))
    const fields = {
      ...Object.fromEntries(sent),
      ...options,
      model,
      prompt,
      temperature,
      // Subtitles are made from segments: not every host of a model makes them, and none says what it counted.
      response_format: needsSpeakers(call) ? 'diarized_json' : needsTimes(call) ? 'verbose_json' : 'json',
      ...(task === 'transcribe' && encodeTranscribeFields(call)),
    }
    return {
      path: task === 'translate' ? '/audio/translations' : '/audio/transcriptions',
      headers: {},
      body: [encodeFile(call), ...encodeFields(fields)],
      dropped: listDropped(call, []).filter((name) => !openaiOptions.includes(name)),
    }
  },
  decodeReply: (body, call) => decodeTranscript(body, call),
  createReader: (call) => ({ read: (frame) => readFrame(frame, call) }),
  decodeError,
}

function encodeTranscribeFields(call: TranscriptionCall): JsonObject {
  return {
    language: call.language,
    timestamp_granularities: wantsWords(call) ? call.timestamps : undefined,
    include: call.logprobs && ['logprobs'],
    chunking_strategy: call.chunking,
    known_speaker_names: call.knownSpeakers?.map(({ name }) => name),
    known_speaker_references: call.knownSpeakers?.map(({ reference }) => reference),
    stream: call.stream || undefined,
  }
}

export function decodeTranscript(body: JsonObject, call: TranscriptionCall): TranscriptionReply | null {
  const text = asString(body.text)
  if (text === undefined) return null
  const usage = asObject(body.usage) ?? {}
  const counted = asSeconds(usage.seconds) ?? asSeconds(usage.prompt_audio_seconds)
  const seconds = counted ?? asSeconds(body.duration)
  return {
    text,
    language: asString(body.language) ?? null,
    duration: asSeconds(body.duration) ?? counted,
    segments: asObjects(body.segments).flatMap((segment) => decodeSegment(segment) ?? []),
    words: asObjects(body.words).flatMap((word) => decodeWord(word) ?? []),
    ...(Array.isArray(body.logprobs) && { logprobs: asObjects(body.logprobs) }),
    usage: decodeTokens(usage) ?? (seconds === null ? null : zeroUsage),
    units: countAudioUnits(call, seconds),
  }
}

function decodeTokens(usage: JsonObject): Usage | null {
  if (!hasAnyCount(usage, ['input_tokens', 'prompt_tokens', 'output_tokens', 'completion_tokens']))
    return null
  const input = new TokenPool(firstCount(usage.input_tokens, usage.prompt_tokens))
  const details = asObject(usage.input_token_details) ?? {}
  const inputAudio = input.take(asCount(details.audio_tokens))
  return {
    ...zeroUsage,
    inputAudio,
    input: input.remaining,
    output: firstCount(usage.output_tokens, usage.completion_tokens),
    reportedCost: asNumber(usage.cost) ?? null,
  }
}

export function decodeSegment(value: JsonObject): TranscriptSegment | undefined {
  const span = decodeSpan(value)
  const text = asString(value.text)
  if (!span || text === undefined) return undefined
  const tokens = Array.isArray(value.tokens) && value.tokens.every(Number.isSafeInteger)
  return {
    ...span,
    text,
    ...omitUndefined({
      id: asString(value.id),
      speakerName: asSpeakerName(value.speaker),
      seek: asNumber(value.seek),
      tokens: tokens ? (value.tokens as number[]) : undefined,
      temperature: asNumber(value.temperature),
      avgLogprob: asNumber(value.avg_logprob),
      compressionRatio: asNumber(value.compression_ratio),
      noSpeechProb: asNumber(value.no_speech_prob),
    }),
  }
}

/** A letter or the name of a known speaker; numbers are decoded with the times. */
function asSpeakerName(value: unknown): string | undefined {
  return asString(value) || undefined
}

function decodeWord(value: JsonObject): TranscriptWord | undefined {
  const span = decodeSpan(value)
  const word = asString(firstFilled(value.word, value.text))
  if (!span || word === undefined) return undefined
  const confidence = asNumber(value.confidence)
  return { ...span, word, ...(confidence !== undefined && { confidence }) }
}

/** The words of hours of speech. */
const maxFrameValues = 1_000_000

/** The object in a frame; null for a frame without one, such as `[DONE]`. */
export function parseFrame({ data }: SseFrame): JsonObject | null {
  return asObject(tryParseJson(data, maxFrameValues)) ?? null
}

function readFrame(frame: SseFrame, call: TranscriptionCall): TranscriptEvent[] {
  const event = parseFrame(frame)
  if (!event) return []
  if (event.error) return [{ type: 'error', failure: decodeFailure(event.error, null) }]
  const { logprobs } = event
  switch (event.type) {
    case 'transcript.text.delta':
      return [
        {
          type: 'delta',
          text: asString(event.delta) ?? '',
          ...(Array.isArray(logprobs) && { logprobs: asObjects(logprobs) }),
          ...omitUndefined({ segmentId: asString(event.segment_id) }),
        },
      ]
    case 'transcript.text.segment': {
      const segment = decodeSegment(event)
      return segment ? [{ type: 'segment', segment }] : []
    }
    case 'transcript.text.done': {
      const reply = decodeTranscript(event, call)
      return reply ? [{ type: 'done', reply }] : []
    }
    default:
      return []
  }
}

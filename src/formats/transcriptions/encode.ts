import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import {
  type TranscriptEvent,
  type TranscriptionCall,
  type TranscriptionReply,
  type TranscriptSegment,
  wantsWords,
} from '../call/transcription.ts'
import { countCompletionTokens, countPromptTokens } from '../call/usage.ts'
import { encodeStreamError } from '../chat/error.ts'
import type { MediaReplyContext } from '../media.ts'
import { encodeSrt, encodeVtt } from './subtitles.ts'
import { joinWords } from './wire-format.ts'

type EncodedTranscript = JsonObject | { contentType: string; text: string }

/** The body of a whole reply, in the requested format. */
export function encodeTranscript(
  call: TranscriptionCall,
  reply: TranscriptionReply,
  context: MediaReplyContext,
): EncodedTranscript {
  switch (call.format) {
    case 'text':
      return toText(`${reply.text}\n`)
    case 'srt':
      return toText(encodeSrt(listSegments(call, reply)))
    case 'vtt':
      return toText(encodeVtt(listSegments(call, reply)))
    case 'json':
      return { ...encodeJson(reply, context), ...encodeMetadata(context) }
    case 'verbose_json':
      return { ...encodeVerbose(call, reply), ...encodeJson(reply, context), ...encodeMetadata(context) }
    case 'diarized_json':
      return { ...encodeDiarized(call, reply), ...encodeJson(reply, context), ...encodeMetadata(context) }
  }
}

function toText(text: string): EncodedTranscript {
  return { contentType: 'text/plain; charset=utf-8', text }
}

function encodeJson(reply: TranscriptionReply, context: MediaReplyContext): JsonObject {
  const { text, logprobs } = reply
  return { text, ...(logprobs && { logprobs }), usage: encodeUsage(reply, context) }
}

function encodeMetadata({ metadata }: MediaReplyContext): JsonObject {
  return metadata ? { service_metadata: metadata } : {}
}

function encodeVerbose(call: TranscriptionCall, reply: TranscriptionReply): JsonObject {
  const { language, duration, confidence, words } = reply
  return {
    task: call.task,
    language: language ?? call.language ?? 'unknown',
    duration: duration ?? call.recording.durationMs / 1000,
    ...(confidence !== undefined && { confidence }),
    ...(call.timestamps.includes('segment') && {
      segments: listSegments(call, reply).map((segment, id) => encodeSegment(call, segment, id)),
    }),
    ...(wantsWords(call) && { words }),
  }
}

function encodeDiarized(call: TranscriptionCall, reply: TranscriptionReply): JsonObject {
  return {
    task: call.task,
    duration: reply.duration ?? call.recording.durationMs / 1000,
    segments: listSegments(call, reply).map(encodeSpokenSegment),
  }
}

/** A segment with its speaker, by the position of the segment unless the provider names it. */
function encodeSpokenSegment(segment: TranscriptSegment, index: number): JsonObject {
  const { id, start, end, text, speaker, speakerName } = segment
  return {
    id: id ?? `seg_${index + 1}`,
    type: 'transcript.text.segment',
    start,
    end,
    text,
    speaker: speakerName ?? (speaker === undefined ? 'unknown' : toLetters(speaker)),
  }
}

/** `A` to `Z`, then `AA`, as the columns of a spreadsheet. */
function toLetters(number: number): string {
  const last = String.fromCharCode(65 + (number % 26))
  return number < 26 ? last : toLetters(Math.floor(number / 26) - 1) + last
}

/** Clients expect every field: what the provider does not report is neutral. */
function encodeSegment(call: TranscriptionCall, segment: TranscriptSegment, id: number): JsonObject {
  return {
    id,
    seek: segment.seek ?? 0,
    start: segment.start,
    end: segment.end,
    text: segment.text,
    tokens: segment.tokens ?? [],
    temperature: segment.temperature ?? call.temperature ?? 0,
    avg_logprob: segment.avgLogprob ?? 0,
    compression_ratio: segment.compressionRatio ?? 1,
    no_speech_prob: segment.noSpeechProb ?? 0,
    ...omitUndefined({ speaker: segment.speaker }),
  }
}

/** Lists the segments of the provider, or sentences made of its words, or the whole text. */
export function listSegments(call: TranscriptionCall, reply: TranscriptionReply): TranscriptSegment[] {
  const { segments, words, text, duration } = reply
  if (segments.length > 0) return segments
  if (words.length > 0) return joinWords(words.map(({ word, ...span }) => ({ ...span, text: `${word} ` })))
  const end = duration ?? call.recording.durationMs / 1000
  return text.trim() === '' ? [] : [{ start: 0, end, text }]
}

/** Encodes the seconds of audio, and the tokens if the provider counted any. */
function encodeUsage({ units }: TranscriptionReply, { usage, cost }: MediaReplyContext): JsonObject {
  const [input, output] = [countPromptTokens(usage), countCompletionTokens(usage)]
  const isCounted = input + output > 0
  const [audio] = units
  return {
    type: isCounted ? 'tokens' : 'duration',
    ...(isCounted && {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      input_token_details: { audio_tokens: usage.inputAudio, text_tokens: usage.input },
    }),
    ...(audio && { seconds: audio.quantity / 1000 }),
    cost: cost.total,
    is_byok: cost.isByok,
    cost_details: { upstream_inference_cost: cost.upstream },
  }
}

export function encodeDelta({
  text,
  logprobs,
  segmentId,
}: Extract<TranscriptEvent, { type: 'delta' }>): string {
  return encodeFrame({
    type: 'transcript.text.delta',
    delta: text,
    ...omitUndefined({ logprobs, segment_id: segmentId }),
  })
}

export function encodeSegmentEvent(segment: TranscriptSegment, index: number): string {
  return encodeFrame(encodeSpokenSegment(segment, index))
}

export function encodeDone(reply: TranscriptionReply, context: MediaReplyContext): string {
  return encodeFrame({
    type: 'transcript.text.done',
    ...encodeJson(reply, context),
    ...encodeMetadata(context),
  })
}

export function encodeTranscriptError(error: GatewayError): string {
  return encodeFrame({ error: encodeStreamError(error) })
}

function encodeFrame(event: JsonObject): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

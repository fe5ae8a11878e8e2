import {
  asNumber,
  asObject,
  asObjects,
  asString,
  firstFilled,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import {
  countAudioUnits,
  needsSpeakers,
  needsTimes,
  type TranscriptionCall,
  type TranscriptSegment,
  type TranscriptWord,
} from '../call/transcription.ts'
import { zeroUsage } from '../call/usage.ts'
import { decodeError } from '../chat/error.ts'
import type { MediaTarget } from '../media.ts'
import {
  asSeconds,
  decodeSpan,
  encodeValue,
  listDropped,
  type TranscriptionWireFormat,
} from './wire-format.ts'

/** Deepgram's format: the recording is the body, and everything else is in the query. */
export const deepgramTranscriptions: TranscriptionWireFormat = {
  name: 'deepgram-transcriptions',
  defaults: { headers: {}, keyScheme: 'Token' },
  translates: false,
  diarizes: true,
  options: [
    'diarize',
    'dictation',
    'filler_words',
    'measurements',
    'numerals',
    'paragraphs',
    'profanity_filter',
    'punctuate',
    'smart_format',
    'utt_split',
  ],
  encodeRequest: (call, target) => ({
    path: `/listen?${encodeQuery(call, target)}`,
    headers: { 'content-type': call.recording.mediaType },
    body: call.recording.bytes,
    dropped: listDropped(call, ['prompt', 'temperature', 'logprobs', 'chunking', 'knownSpeakers']),
  }),
  decodeReply: (body, call) => {
    const results = asObject(body.results)
    const [channel] = asObjects(results?.channels)
    const [best] = asObjects(channel?.alternatives)
    const text = asString(best?.transcript)
    if (text === undefined) return null
    const seconds = asSeconds(asObject(body.metadata)?.duration)
    const confidence = asNumber(best?.confidence)
    return {
      text,
      language: asString(channel?.detected_language) ?? null,
      duration: seconds,
      segments: asObjects(results?.utterances).flatMap((utterance) => decodeUtterance(utterance) ?? []),
      words: asObjects(best?.words).flatMap((word) => decodeWord(word) ?? []),
      ...(confidence !== undefined && { confidence }),
      usage: seconds === null ? null : zeroUsage,
      units: countAudioUnits(call, seconds),
    }
  },
  decodeError: (status, body) => {
    const { err_code: code, err_msg: message } = asObject(body) ?? {}
    return decodeError(status, typeof message === 'string' ? { code, message } : body)
  },
}

function encodeQuery(call: TranscriptionCall, { model, options }: MediaTarget): string {
  const query = new URLSearchParams({ smart_format: 'true' })
  for (const [name, value] of Object.entries(options)) query.set(name, encodeValue(value))
  query.set('model', model)
  if (call.language === undefined) query.set('detect_language', 'true')
  else query.set('language', call.language)
  if (needsTimes(call)) query.set('utterances', 'true')
  if (needsSpeakers(call)) query.set('diarize', 'true')
  return query.toString()
}

function decodeUtterance(value: JsonObject): TranscriptSegment | undefined {
  const span = decodeSpan(value)
  const text = asString(value.transcript)
  if (!span || text === undefined) return undefined
  const confidence = asNumber(value.confidence)
  return { ...span, text, ...(confidence && confidence <= 1 && { avgLogprob: Math.log(confidence) }) }
}

function decodeWord(value: JsonObject): TranscriptWord | undefined {
  const span = decodeSpan(value)
  const word = asString(firstFilled(value.punctuated_word, value.word))
  if (!span || word === undefined) return undefined
  const confidence = asNumber(value.confidence)
  return { ...span, word, ...(confidence !== undefined && { confidence }) }
}

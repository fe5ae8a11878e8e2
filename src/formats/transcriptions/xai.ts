import { asNumber, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { countAudioUnits, needsSpeakers, type TranscriptionReply } from '../call/transcription.ts'
import { zeroUsage } from '../call/usage.ts'
import { decodeError } from '../chat/error.ts'
import {
  asSeconds,
  decodeSpan,
  encodeFields,
  encodeFile,
  joinWords,
  listDropped,
  type TranscriptionWireFormat,
} from './wire-format.ts'

/** `POST /stt` of xAI, whose times are those of words. */
export const xaiTranscriptions: TranscriptionWireFormat = {
  name: 'xai-transcriptions',
  defaults: { headers: {} },
  translates: false,
  diarizes: true,
  options: ['diarize', 'filler_words', 'keyterm', 'audio_format', 'sample_rate'],
  encodeRequest: (call, { model, options: { keyterm, ...options } }) => {
    const fields = {
      ...options,
      model,
      language: call.language,
      ...(needsSpeakers(call) && { diarize: true }),
    }
    const terms = (Array.isArray(keyterm) ? keyterm : [keyterm]).flatMap((term) => asString(term) ?? [])
    return {
      path: '/stt',
      headers: {},
      // The vendor requires the recording to be the last field.
      body: [
        ...encodeFields(fields),
        ...terms.map((value) => ({ name: 'keyterm', value })),
        encodeFile(call),
      ],
      dropped: listDropped(call, ['prompt', 'temperature', 'logprobs', 'chunking', 'knownSpeakers']),
    }
  },
  decodeReply: (body, call) => {
    const text = asString(body.text)
    if (text === undefined) return null
    const seconds = asSeconds(body.duration)
    return {
      text,
      language: asString(body.language) || null,
      duration: seconds,
      ...decodeWords(asObjects(body.words)),
      usage: seconds === null ? null : zeroUsage,
      units: countAudioUnits(call, seconds),
    }
  },
  decodeError,
}

function decodeWords(values: JsonObject[]): Pick<TranscriptionReply, 'words' | 'segments'> {
  const spoken = values.flatMap((value) => {
    const span = decodeSpan(value)
    const text = asString(value.text)?.trim()
    if (!span || !text) return []
    return [{ ...span, text, confidence: asNumber(value.confidence) }]
  })
  return {
    segments: joinWords(
      spoken.map(({ confidence: _confidence, text, ...span }) => ({ ...span, text: `${text} ` })),
    ),
    words: spoken.map(({ text, confidence, ...span }) => ({
      ...span,
      word: text,
      ...(confidence !== undefined && { confidence }),
    })),
  }
}

import { asNumber, asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { countAudioUnits, needsSpeakers, needsTimes, type TranscriptionReply } from '../call/transcription.ts'
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

/** The format of Scribe, whose times are those of words and of the spaces between them. */
export const elevenlabsTranscriptions: TranscriptionWireFormat = {
  name: 'elevenlabs-transcriptions',
  defaults: { headers: {}, keyHeader: 'xi-api-key' },
  translates: false,
  diarizes: true,
  options: ['diarize', 'num_speakers', 'diarization_threshold', 'tag_audio_events', 'no_verbatim', 'seed'],
  encodeRequest: (call, { model, options }) => {
    const fields = {
      ...options,
      model_id: model,
      language_code: call.language,
      temperature: call.temperature,
      timestamps_granularity: needsTimes(call) ? 'word' : 'none',
      ...(needsSpeakers(call) && { diarize: true }),
    }
    return {
      path: '/speech-to-text',
      headers: {},
      body: [encodeFile(call), ...encodeFields(fields)],
      dropped: listDropped(call, ['prompt', 'logprobs', 'chunking', 'knownSpeakers']),
    }
  },
  decodeReply: (body, call) => {
    const text = asString(body.text)
    if (text === undefined) return null
    const seconds = asSeconds(body.audio_duration_secs)
    return {
      text,
      language: asString(body.language_code) ?? null,
      duration: seconds,
      ...decodeWords(asObjects(body.words)),
      usage: seconds === null ? null : zeroUsage,
      units: countAudioUnits(call, seconds),
    }
  },
  decodeError: (status, body) => {
    const detail = asObject(asObject(body)?.detail)
    return decodeError(
      status,
      detail ? { code: detail.status ?? detail.code, message: detail.message } : body,
    )
  },
}

function decodeWords(values: JsonObject[]): Pick<TranscriptionReply, 'words' | 'segments'> {
  const spoken = values.flatMap((value) => {
    const span = decodeSpan(value)
    const text = asString(value.text)
    if (!span || text === undefined) return []
    const logprob = asNumber(value.logprob)
    return [
      { ...span, text, type: value.type, confidence: logprob === undefined ? undefined : Math.exp(logprob) },
    ]
  })
  return {
    segments: joinWords(spoken.map(({ type: _type, confidence: _confidence, ...word }) => word)),
    words: spoken
      .filter(({ type }) => type !== 'spacing')
      .map(({ type: _type, text, confidence, ...span }) => ({
        ...span,
        word: text,
        ...(confidence !== undefined && { confidence }),
      })),
  }
}

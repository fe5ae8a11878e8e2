import type { SseFrame } from '../../platform/http/sse.ts'
import { asString, omitUndefined } from '../../platform/json/json-values.ts'
import {
  needsSpeakers,
  needsTimes,
  type TranscriptEvent,
  type TranscriptionCall,
  wantsWords,
} from '../call/transcription.ts'
import { decodeError, decodeFailure } from '../chat/error.ts'
import { decodeSegment, decodeTranscript, parseFrame } from './openai.ts'
import { encodeFields, encodeFile, listDropped, type TranscriptionWireFormat } from './wire-format.ts'

/** The format of Voxtral: one kind of times in each reply, and events of its own. */
export const mistralTranscriptions: TranscriptionWireFormat = {
  name: 'mistral-transcriptions',
  defaults: { headers: {} },
  translates: false,
  diarizes: true,
  options: ['diarize', 'context_bias'],
  encodeRequest: (call, { model, options }) => {
    const { temperature, language } = call
    const isTimed = needsTimes(call)
    const fields = {
      ...options,
      model,
      temperature,
      // It rejects a language together with times.
      language: isTimed ? undefined : language,
      stream: call.stream || undefined,
      ...(needsSpeakers(call) && { diarize: true }),
    }
    const granularity = { name: 'timestamp_granularities', value: 'segment' }
    return {
      path: '/audio/transcriptions',
      headers: {},
      body: [encodeFile(call), ...encodeFields(fields), ...(isTimed ? [granularity] : [])],
      dropped: [
        ...listDropped(call, [
          ...(['prompt', 'logprobs', 'chunking', 'knownSpeakers'] as const),
          ...(isTimed ? (['language'] as const) : []),
        ]),
        ...(wantsWords(call) ? ['timestamp_granularities'] : []),
      ],
    }
  },
  decodeReply: (body, call) => decodeTranscript(body, call),
  createReader: (call) => {
    let language: string | undefined
    return {
      read: (frame) => {
        const event = parseFrame(frame)
        language = asString(event?.audio_language) ?? language
        return readFrame(frame, call, language)
      },
    }
  },
  decodeError,
}

function readFrame(
  frame: SseFrame,
  call: TranscriptionCall,
  language: string | undefined,
): TranscriptEvent[] {
  const event = parseFrame(frame)
  if (!event) return []
  if (event.error) return [{ type: 'error', failure: decodeFailure(event.error, null) }]
  switch (event.type ?? frame.event) {
    case 'transcription.text.delta':
      return [{ type: 'delta', text: asString(event.text) ?? '' }]
    case 'transcription.segment': {
      const segment = decodeSegment(event)
      return segment ? [{ type: 'segment', segment }] : []
    }
    case 'transcription.done': {
      const reply = decodeTranscript({ ...omitUndefined({ language }), ...event }, call)
      return reply ? [{ type: 'done', reply }] : []
    }
    default:
      return []
  }
}

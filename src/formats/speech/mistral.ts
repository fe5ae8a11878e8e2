import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { SpeechCall, SpeechEvent } from '../call/speech.ts'
import { decodeError } from '../chat/error.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { decodeAudioText } from './audio-text.ts'
import { dropFields } from './drop-fields.ts'
import type { WholeSpeechWireFormat } from './wire-format.ts'

/** `POST /audio/speech` of Mistral: audio in base64. Its PCM has another sample format than the API's. */
export const mistralSpeech: WholeSpeechWireFormat = {
  name: 'mistral-speech',
  formats: ['mp3', 'opus', 'flac', 'wav'],
  sendsReferences: true,
  options: ['expressiveness', 'phoneme_hints'],
  defaults: { headers: {} },
  encodeRequest,
  decodeReply,
  decodeError,
}

function encodeRequest(call: SpeechCall, { model, options, speech }: MediaTarget): MediaUpstreamRequest {
  const { dropped } = dropFields(call, speech, ['instructions', 'speed'])
  const body = omitUndefined({
    ...options,
    model,
    input: call.input,
    voice_id: call.reference ? undefined : (call.voice ?? speech?.default_voice ?? undefined),
    ref_audio: call.reference?.audio,
    response_format: call.format,
    stream: false,
  })
  return { path: '/audio/speech', headers: {}, body, dropped }
}

function decodeReply(body: JsonObject): Iterable<SpeechEvent> | null {
  const audio = asString(body.audio_data)
  return audio === undefined ? null : listEvents(audio)
}

function* listEvents(audio: string): Generator<SpeechEvent> {
  yield* decodeAudioText(audio, 'base64')
  yield { type: 'reply-end' }
}

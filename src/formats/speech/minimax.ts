import {
  asNumber,
  asObject,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { FailureKind } from '../call/failure.ts'
import { type SpeechCall, type SpeechEvent, speechSampleRate } from '../call/speech.ts'
import { decodeError } from '../chat/error.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { decodeAudioText } from './audio-text.ts'
import { dropFields } from './drop-fields.ts'
import type { WholeSpeechWireFormat } from './wire-format.ts'

/** `POST /t2a_v2` of MiniMax: audio in hexadecimal digits. Its errors have a status of 200, and a code in the body. */
export const minimaxSpeech: WholeSpeechWireFormat = {
  name: 'minimax-speech',
  formats: ['mp3', 'flac', 'wav', 'pcm'],
  options: [
    ...['voice_setting', 'audio_setting', 'voice_modify', 'pronunciation_dict', 'timber_weights'],
    ...['language_boost', 'text_normalization'],
  ],
  defaults: { headers: {} },
  encodeRequest,
  decodeReply,
  decodeError,
}

function encodeRequest(call: SpeechCall, { model, options, speech }: MediaTarget): MediaUpstreamRequest {
  const { supported, dropped } = dropFields(call, speech, ['instructions'])
  const body = {
    ...options,
    model,
    text: call.input,
    stream: false,
    output_format: 'hex',
    voice_setting: omitUndefined({
      ...asObject(options.voice_setting),
      voice_id: call.voice ?? speech?.default_voice ?? undefined,
      speed: supported.speed,
    }),
    audio_setting: omitUndefined({
      ...asObject(options.audio_setting),
      format: call.format,
      // What clients expect of audio that does not say its own rate.
      ...(call.format === 'pcm' && { sample_rate: speechSampleRate, channel: 1 }),
    }),
  }
  return { path: '/t2a_v2', headers: {}, body, dropped }
}

const failureKinds = new Map<number, FailureKind>([
  [1001, 'timeout'],
  [1002, 'rate_limit_exceeded'],
  [1004, 'authentication'],
  [1008, 'payment_required'],
  [1026, 'content_policy_violation'],
  [1027, 'content_policy_violation'],
  [1039, 'rate_limit_exceeded'],
  [1042, 'invalid_request'],
  [2013, 'invalid_request'],
  [2049, 'authentication'],
])

function decodeReply(body: JsonObject): Iterable<SpeechEvent> | null {
  const { status_code, status_msg } = asObject(body.base_resp) ?? {}
  const code = asNumber(status_code) ?? 0
  if (code !== 0) {
    const kind = failureKinds.get(code) ?? 'provider_unavailable'
    const message = asString(status_msg) || `The provider returned the error ${code}.`
    return [{ type: 'reply-error', failure: { kind, status: null, message, code: String(code) } }]
  }
  const audio = asString(asObject(body.data)?.audio)
  return audio === undefined ? null : listEvents(audio)
}

function* listEvents(audio: string): Generator<SpeechEvent> {
  yield* decodeAudioText(audio, 'hex')
  yield { type: 'reply-end' }
}

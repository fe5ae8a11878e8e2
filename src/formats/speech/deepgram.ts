import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject } from '../../platform/json/json-values.ts'
import type { UpstreamFailure } from '../call/failure.ts'
import { type SpeechCall, speechSampleRate } from '../call/speech.ts'
import * as chat from '../chat/error.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { type SpeechFormat, speechFormats } from '../vocabulary.ts'
import { AudioReader, isAudioType } from './audio-reader.ts'
import { dropFields } from './drop-fields.ts'
import type { StreamedSpeechWireFormat } from './wire-format.ts'

const encodings: Record<SpeechFormat, Record<string, string>> = {
  mp3: { encoding: 'mp3' },
  opus: { encoding: 'opus', container: 'ogg' },
  aac: { encoding: 'aac' },
  flac: { encoding: 'flac', sample_rate: String(speechSampleRate) },
  wav: { encoding: 'linear16', container: 'wav', sample_rate: String(speechSampleRate) },
  pcm: { encoding: 'linear16', container: 'none', sample_rate: String(speechSampleRate) },
}

/** `POST /speak` of Deepgram: everything but the text is in the query string. */
export const deepgramSpeech: StreamedSpeechWireFormat = {
  name: 'deepgram-speech',
  formats: speechFormats,
  // Without `callback`, which delivers the audio elsewhere.
  options: ['bit_rate', 'mip_opt_out', 'tag'],
  defaults: { headers: {}, keyScheme: 'Token' },
  encodeRequest,
  createReader: (contentType) => (isAudioType(contentType) ? new AudioReader(contentType) : null),
  decodeError,
}

function encodeRequest(call: SpeechCall, { model, options, speech }: MediaTarget): MediaUpstreamRequest {
  const { supported, dropped } = dropFields(call, speech, ['instructions'])
  const query = new URLSearchParams({
    model: resolveVoiceModel(model, call.voice ?? speech?.default_voice ?? ''),
    ...encodings[call.format],
    ...(supported.speed !== undefined && { speed: String(supported.speed) }),
  })
  for (const [name, value] of Object.entries(options)) query.set(name, String(value))
  return { path: `/speak?${query}`, headers: {}, body: { text: call.input }, dropped }
}

/** A voice is a model of the vendor, such as `aura-2-thalia-en`; clients may leave out the family. */
function resolveVoiceModel(family: string, voice: string): string {
  const name = voice.startsWith(`${family}-`) ? voice.slice(family.length + 1) : voice
  // `2-thalia-en` of the family `aura` would be a voice of `aura-2`, which has another price.
  if (!/^[A-Za-z]/.test(name) && voice !== '')
    throw invalidFieldError('voice', `must be a voice of ${family}, such as ${family}-thalia-en`)
  return voice === '' ? family : `${family}-${name}`
}

/** Older errors have their own names for message and code. */
function decodeError(status: number, body: unknown): UpstreamFailure {
  const error = asObject(body)
  if (!error?.err_msg) return chat.decodeError(status, body)
  return chat.decodeError(status, { error: { ...error, message: error.err_msg, code: error.err_code } })
}

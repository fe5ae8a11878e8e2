import { asObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { SpeechCall } from '../call/speech.ts'
import { decodeError } from '../chat/error.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import type { SpeechFormat } from '../vocabulary.ts'
import { AudioReader, isAudioType } from './audio-reader.ts'
import { dropFields } from './drop-fields.ts'
import type { StreamedSpeechWireFormat } from './wire-format.ts'

/** Codec, sample rate and bit rate, as `output_format` names them. */
const outputFormats: Partial<Record<SpeechFormat, string>> = {
  mp3: 'mp3_44100_128',
  opus: 'opus_48000_64',
  wav: 'wav_24000',
  pcm: 'pcm_24000',
}

/** `POST /text-to-speech/{voice_id}/stream` of ElevenLabs. */
export const elevenLabsSpeech: StreamedSpeechWireFormat = {
  name: 'elevenlabs-speech',
  formats: Object.keys(outputFormats) as SpeechFormat[],
  defaults: { headers: {}, keyHeader: 'xi-api-key' },
  encodeRequest,
  createReader: (contentType) => (isAudioType(contentType) ? new AudioReader(contentType) : null),
  decodeError,
}

function encodeRequest(call: SpeechCall, { model, options, speech }: MediaTarget): MediaUpstreamRequest {
  const { supported, dropped } = dropFields(call, speech, ['instructions'])
  const voice = call.voice ?? speech?.default_voice ?? ''
  const settings = omitUndefined({ ...asObject(options.voice_settings), speed: supported.speed })
  const body = omitUndefined({
    ...options,
    text: call.input,
    model_id: model,
    voice_settings: Object.keys(settings).length > 0 ? settings : undefined,
  })
  const path = `/text-to-speech/${encodeURIComponent(voice)}/stream?output_format=${outputFormats[call.format]}`
  return { path, headers: {}, body, dropped }
}

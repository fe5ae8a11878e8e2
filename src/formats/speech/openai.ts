import { omitUndefined } from '../../platform/json/json-values.ts'
import type { SpeechCall } from '../call/speech.ts'
import { decodeError } from '../chat/error.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { speechFormats } from '../vocabulary.ts'
import { AudioReader, isAudioType } from './audio-reader.ts'
import { dropFields } from './drop-fields.ts'
import { EventReader } from './event-reader.ts'
import type { StreamedSpeechWireFormat } from './wire-format.ts'

/** `POST /audio/speech` of OpenAI, and of the many servers that copy it. */
export const speech: StreamedSpeechWireFormat = {
  name: 'speech',
  formats: speechFormats,
  sendsReferences: true,
  defaults: { headers: {} },
  encodeRequest,
  createReader(contentType) {
    if (contentType.startsWith('text/event-stream')) return new EventReader()
    return isAudioType(contentType) ? new AudioReader(contentType) : null
  },
  decodeError,
}

function encodeRequest(call: SpeechCall, { model, options, speech }: MediaTarget): MediaUpstreamRequest {
  const { supported, dropped } = dropFields(call, speech)
  const voice = call.voice ?? speech?.default_voice ?? undefined
  const body = omitUndefined({
    ...options,
    model,
    input: call.input,
    voice: call.isCustomVoice ? { id: voice } : voice,
    response_format: call.format,
    speed: supported.speed,
    instructions: supported.instructions,
    stream_format: speech?.reports_usage ? 'sse' : undefined,
    ...encodeReference(call),
  })
  return { path: '/audio/speech', headers: {}, body, dropped }
}

/** The vendor has no field for it; these are those of vLLM. */
function encodeReference({ reference }: SpeechCall) {
  if (!reference) return {}
  const { audio, format = 'wav', text } = reference
  return { ref_audio: `data:audio/${format};base64,${audio}`, ref_text: text }
}

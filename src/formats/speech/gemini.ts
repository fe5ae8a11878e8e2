import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { encodeWavHeader } from '../../platform/media/wav.ts'
import { type SpeechCall, type SpeechEvent, speechSampleRate } from '../call/speech.ts'
import { decodeError } from '../gemini/error.ts'
import { decodeUsage } from '../gemini/usage.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { readSampleRate } from './audio-reader.ts'
import { decodeAudioText } from './audio-text.ts'
import { dropFields } from './drop-fields.ts'
import type { WholeSpeechWireFormat } from './wire-format.ts'

/** `generateContent` of Gemini with audio as its only output: PCM in base64. */
export const geminiSpeech: WholeSpeechWireFormat = {
  name: 'gemini-speech',
  formats: ['wav', 'pcm'],
  options: ['generationConfig', 'safetySettings'],
  defaults: { headers: {}, keyHeader: 'x-goog-api-key' },
  encodeRequest,
  decodeReply,
  decodeError,
}

function encodeRequest(call: SpeechCall, { model, options, speech }: MediaTarget): MediaUpstreamRequest {
  const { dropped } = dropFields(call, speech, ['instructions', 'speed'])
  const voiceName = call.voice ?? speech?.default_voice ?? ''
  const body = {
    ...options,
    contents: [{ role: 'user', parts: [{ text: call.input }] }],
    generationConfig: {
      ...asObject(options.generationConfig),
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } },
    },
  }
  return { path: `/models/${model}:generateContent`, headers: {}, body, dropped }
}

function decodeReply(body: JsonObject, call: SpeechCall): Iterable<SpeechEvent> | null {
  const blockReason = asString(asObject(body.promptFeedback)?.blockReason)
  if (blockReason !== undefined) return [blockedEvent(blockReason)]
  const [candidate] = asObjects(body.candidates)
  const parts = asObjects(asObject(candidate?.content)?.parts)
  const data = asObjects(parts.map((part) => part.inlineData ?? part.inline_data))
  if (!candidate) return null
  const finishReason = asString(candidate.finishReason) ?? 'STOP'
  if (data.length === 0 && finishReason !== 'STOP') return [blockedEvent(finishReason)]
  return listEvents(data, body, call)
}

function blockedEvent(reason: string): SpeechEvent {
  const kind = reason === 'OTHER' ? 'provider_unavailable' : 'content_policy_violation'
  const message = `The provider did not speak the text: ${reason}.`
  return { type: 'reply-error', failure: { kind, status: null, message, code: reason } }
}

function* listEvents(data: JsonObject[], body: JsonObject, { format }: SpeechCall): Generator<SpeechEvent> {
  const usage = decodeUsage(asObject(body.usageMetadata) ?? {}, 0)
  if (usage) yield { type: 'usage', usage }
  const [first] = data
  const sampleRate = readSampleRate(asString(first?.mimeType ?? first?.mime_type) ?? '') ?? speechSampleRate
  const encoded = data.map((part) => asString(part.data) ?? '')
  if (format === 'wav') {
    const samples = encoded.reduce((sum, text) => sum + Buffer.byteLength(text, 'base64'), 0)
    yield { type: 'audio-delta', bytes: encodeWavHeader({ sampleRate, channels: 1, bits: 16 }, samples) }
  }
  for (const text of encoded) yield* decodeAudioText(text, 'base64', sampleRate)
  yield { type: 'reply-end' }
}

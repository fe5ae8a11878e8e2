import { speechSampleRate } from '../../call/speech.ts'
import { invalidFieldError } from '../../errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../lib/json-values.ts'
import { type TranslatedBody, translateBody } from '../client-body.ts'
import type { MediaReplyContext } from '../media.ts'
import type { SpeechWriter } from '../speech/encode.ts'
import { encodeError } from './error.ts'
import { listOf, readField, readObjectField, toCamelCase } from './field-names.ts'
import { geminiBody } from './schema.ts'
import { encodeUsage } from './usage.ts'

/** Whether a body requests audio and nothing else. */
export function requestsAudio(body: JsonObject): boolean {
  const modalities = listOf(readField(readObjectField(body, 'generationConfig') ?? {}, 'responseModalities'))
  return modalities.length > 0 && modalities.every((name) => asString(name)?.toUpperCase() === 'AUDIO')
}

const effectiveSettings: ReadonlySet<string> = new Set(['responseModalities', 'speechConfig'])

/** A body of `generateContent` as one of `POST /audio/speech`. */
export function translateSpeech(body: JsonObject): TranslatedBody {
  const config = readObjectField(body, 'generationConfig') ?? {}
  const instruction = joinTexts([readField(body, 'systemInstruction')])
  const translated = translateBody(body, geminiBody.shape, {
    input: joinTexts(listOf(body.contents)),
    response_format: 'pcm',
    voice: readVoice(config),
    instructions: instruction || undefined,
  })
  const ignored = Object.keys(config).filter((name) => !effectiveSettings.has(toCamelCase(name)))
  return {
    ...translated,
    unknown: [...translated.unknown, ...ignored.map((name) => `generationConfig.${toCamelCase(name)}`)],
  }
}

function joinTexts(contents: readonly unknown[]): string {
  const parts = contents.flatMap((content) => asObjects(listOf(asObject(content)?.parts)))
  return parts.map(({ text }) => asString(text) ?? '').join('\n')
}

function readVoice(config: JsonObject): string | undefined {
  const speech = readObjectField(config, 'speechConfig')
  if (readObjectField(speech, 'multiSpeakerVoiceConfig'))
    throw invalidFieldError(
      'generationConfig.speechConfig.multiSpeakerVoiceConfig',
      'is not supported; send a request for each speaker',
    )
  const prebuilt = readObjectField(readObjectField(speech, 'voiceConfig'), 'prebuiltVoiceConfig')
  return prebuilt && asString(readField(prebuilt, 'voiceName'))
}

function mediaTypeOf(sampleRate = speechSampleRate): string {
  return `audio/L16;codec=pcm;rate=${sampleRate}`
}

function encodeEnd({ id, model, usage, cost, metadata }: MediaReplyContext): JsonObject {
  return {
    usageMetadata: encodeUsage(usage, cost),
    modelVersion: model,
    responseId: id,
    ...(metadata && { service_metadata: metadata }),
  }
}

/** One JSON object, written as the audio arrives. An error ends the connection: the object cannot express it. */
export function createWholeWriter(sampleRate?: number): SpeechWriter {
  const part = { inlineData: { mimeType: mediaTypeOf(sampleRate), data: '' } }
  const content = JSON.stringify({ role: 'model', parts: [part] })
  const split = content.lastIndexOf('""') + 1
  let head = `{"candidates":[{"content":${content.slice(0, split)}`
  let carried: Uint8Array = new Uint8Array()
  return {
    contentType: 'application/json; charset=utf-8',
    write: (audio) => {
      const bytes = Buffer.concat([carried, audio])
      // Base64 has four characters for every three bytes.
      const whole = bytes.length - (bytes.length % 3)
      carried = bytes.subarray(whole)
      const text = head + bytes.subarray(0, whole).toString('base64')
      head = ''
      return text
    },
    end: (context) => {
      const rest = Buffer.from(carried).toString('base64')
      const tail = JSON.stringify(encodeEnd(context)).slice(1)
      return `${rest}${content.slice(split)},"finishReason":"STOP","index":0}],${tail}`
    },
    fail: () => null,
  }
}

/** Events of `streamGenerateContent`, each with a part of the audio. */
export function createEventWriter(sampleRate?: number): SpeechWriter {
  const mimeType = mediaTypeOf(sampleRate)
  const format = (event: JsonObject) => `data: ${JSON.stringify(event)}\n\n`
  return {
    contentType: 'text/event-stream; charset=utf-8',
    write: (audio) => {
      if (audio.length === 0) return ''
      const parts = [{ inlineData: { mimeType, data: Buffer.from(audio).toString('base64') } }]
      return format({ candidates: [{ content: { role: 'model', parts }, index: 0 }] })
    },
    end: (context) => {
      const content = { role: 'model', parts: [{ text: '' }] }
      return format({ candidates: [{ content, finishReason: 'STOP', index: 0 }], ...encodeEnd(context) })
    },
    fail: (error) => format(encodeError(error, '')),
  }
}

import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { Base64Stream } from '../../platform/text/base64-stream.ts'
import { speechSampleRate } from '../call/speech.ts'
import { type TranslatedBody, translateBody } from '../client-body.ts'
import type { MediaReplyContext } from '../media.ts'
import type { SpeechWriter } from '../speech/encode.ts'
import { encodeError } from './error.ts'
import { listOf, readField, readObjectField, toCamelCase, toSnakeCase } from './field-names.ts'
import { encodeUsage } from './usage.ts'

/** Whether a body requests audio and nothing else. */
export function requestsAudio(body: JsonObject): boolean {
  const modalities = listOf(readField(readObjectField(body, 'generationConfig') ?? {}, 'responseModalities'))
  return modalities.length > 0 && modalities.every((name) => asString(name)?.toUpperCase() === 'AUDIO')
}

const effectiveFields = ['contents', 'generationConfig', 'systemInstruction']
const knownFields = Object.fromEntries(
  effectiveFields.flatMap((name) => [name, toSnakeCase(name)]).map((name) => [name, true]),
)
const effectiveSettings: ReadonlySet<string> = new Set(['responseModalities', 'speechConfig'])
const effectiveSpeech: ReadonlySet<string> = new Set(['voiceConfig', 'multiSpeakerVoiceConfig'])

/** A body of `generateContent` as one of `POST /audio/speech`. */
export function translateSpeech(body: JsonObject): TranslatedBody {
  const config = readObjectField(body, 'generationConfig') ?? {}
  const instruction = joinTexts([readField(body, 'systemInstruction')], 'systemInstruction')
  const translated = translateBody(body, knownFields, {
    input: joinTexts(listOf(body.contents), 'contents'),
    response_format: 'pcm',
    voice: readVoice(config),
    instructions: instruction || undefined,
  })
  const unknown = [
    ...translated.unknown,
    ...listOthers(config, effectiveSettings, 'generationConfig'),
    ...listOthers(
      readObjectField(config, 'speechConfig') ?? {},
      effectiveSpeech,
      'generationConfig.speechConfig',
    ),
  ]
  return { ...translated, unknown }
}

function listOthers(object: JsonObject, effective: ReadonlySet<string>, path: string): string[] {
  return Object.keys(object)
    .map(toCamelCase)
    .filter((name) => !effective.has(name))
    .map((name) => `${path}.${name}`)
}

function joinTexts(contents: readonly unknown[], field: string): string {
  const texts = contents.flatMap((content, index) =>
    asObjects(listOf(asObject(content)?.parts)).map((part, position) => {
      const text = asString(part.text)
      if (text === undefined)
        throw invalidFieldError(`${field}.${index}.parts.${position}`, 'must be a text, because it is spoken')
      return text
    }),
  )
  return texts.join('\n')
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
  const encoded = new Base64Stream()
  return {
    contentType: 'application/json; charset=utf-8',
    write: (audio) => {
      const text = head + encoded.add(audio)
      head = ''
      return text
    },
    end: (context) => {
      const tail = JSON.stringify(encodeEnd(context)).slice(1)
      return `${encoded.end()}${content.slice(split)},"finishReason":"STOP","index":0}],${tail}`
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

import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import type { RequestSize } from '../call/size.ts'
import { countCharacters, type SpeechCall } from '../call/speech.ts'
import type { OpaqueKind } from '../call/texts.ts'
import type { BilledUnits } from '../call/units.ts'
import { effectiveFields, type SpeechRequest } from './schema.ts'

const defaultFormat = 'pcm'
/** The default that the SDKs of OpenAI document for their users. */
const sdkDefaultFormat = 'mp3'

/** The body of an SDK of OpenAI, with the default that its users expect. */
export function completeSdkBody(body: SpeechRequest): SpeechRequest {
  return { ...body, response_format: body.response_format ?? sdkDefaultFormat }
}

/** The body has passed the schema. */
export function decodeSpeechRequest(valid: JsonObject): {
  body: JsonObject
  call: SpeechCall
  prompt: ModelCall
  opaque: OpaqueKind[]
  size: RequestSize
} {
  const body = valid as SpeechRequest
  const call = decodeSpeech(body)
  return {
    body: toRecordedBody(body),
    call,
    prompt: toPrompt(call),
    opaque: call.reference ? ['audio'] : [],
    size: measureSpeech(call),
  }
}

function decodeSpeech(body: SpeechRequest): SpeechCall {
  const { input, response_format, stream_format, voice, speed, instructions } = body
  return {
    input,
    format: response_format ?? defaultFormat,
    delivery: stream_format === 'sse' ? 'events' : 'audio',
    ...(voice !== undefined &&
      (typeof voice === 'string' ? { voice } : { voice: voice.id, isCustomVoice: true })),
    ...omitUndefined({ speed, instructions, reference: decodeReference(body) }),
    unknown: Object.keys(body).filter((name) => !effectiveFields.has(name)),
  }
}

function decodeReference({ input_references = [] }: SpeechRequest): SpeechCall['reference'] {
  const audio = input_references.find((part) => part.type === 'input_audio')
  const transcript = input_references.find((part) => part.type === 'text')
  if (!audio) return undefined
  const { data, format } = audio.input_audio
  return { audio: data, ...omitUndefined({ format, text: transcript?.text }) }
}

/** The text as a prompt. */
function toPrompt({ input, instructions }: SpeechCall): ModelCall {
  const texts = instructions === undefined ? [input] : [instructions, input]
  return {
    messages: [{ role: 'user', parts: texts.map((text) => ({ kind: 'text', text })) }],
    stream: true,
    unknown: [],
  }
}

/** Vendors count 20 to 30 tokens for a second of audio; the slowest speech has three characters in it. */
const tokensPerCharacter = 10
const tokensForPauses = 2000
/** Tokens that vendors add to a prompt. */
const extraPromptTokens = 64
/** Base64 characters of a recording for each token, a lower bound: a well-compressed one has fifty times more. */
const charactersPerAudioToken = 100

export function measureSpeech(call: SpeechCall): RequestSize {
  const { input, instructions = '', reference } = call
  const texts = [input, instructions, reference?.text ?? '']
  const audioTokens = Math.ceil((reference?.audio.length ?? 0) / charactersPerAudioToken)
  return {
    promptTokens: texts.reduce((sum, text) => sum + Buffer.byteLength(text), extraPromptTokens + audioTokens),
    outputTokens: tokensForPauses + tokensPerCharacter * countCharacters(input),
    choices: 1,
    images: 0,
    hasAudio: reference !== undefined,
    hasLongCache: false,
    webSearches: 0,
    units: listUnits(call),
  }
}

/** Lists the units of speech that is billed by another unit than the token. */
export function listUnits({ input }: SpeechCall): BilledUnits[] {
  return [{ billable: 'input_text', unit: 'character', quantity: countCharacters(input), variants: [] }]
}

/** An estimate of the tokens of audio: 15 characters are spoken in a second, and vendors count about 20 tokens for it. */
export function estimateAudioTokens({ input }: SpeechCall): number {
  return Math.ceil((countCharacters(input) * 20) / 15)
}

/** Drops the recording, which is not logged. */
function toRecordedBody(body: SpeechRequest): JsonObject {
  const { input_references: _, ...rest } = body
  return rest
}

import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { AudioFormat } from '../../platform/media/audio-info.ts'
import { joinBytes } from '../../platform/text/join-bytes.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import type { ModelCall } from '../call/call.ts'
import type { RequestSize } from '../call/size.ts'
import type { KnownSpeaker, Recording, TranscriptionCall } from '../call/transcription.ts'
import { type AudioSource, maxRecordingBytes, recordingTooLargeError } from './recording.ts'
import { knownFields, type TranscriptionFields } from './schema.ts'

/** `body` has passed the schema of its task. */
export function decodeTranscription(
  task: TranscriptionCall['task'],
  body: TranscriptionFields,
  recording: Recording,
): TranscriptionCall {
  const known = knownFields[task]
  const fields: TranscriptionFields = { ...body }
  const unknown: JsonObject = {}
  for (const name of Object.keys(body)) {
    if (known.has(name)) continue
    unknown[name] = body[name]
    delete fields[name]
  }
  const format = fields.response_format ?? 'json'
  return {
    task,
    recording,
    format,
    stream: fields.stream === true,
    timestamps: format === 'verbose_json' ? (fields.timestamp_granularities ?? ['segment']) : [],
    ...omitUndefined({
      language: fields.language,
      prompt: fields.prompt || undefined,
      temperature: fields.temperature,
      logprobs: fields.include?.includes('logprobs') ? (true as const) : undefined,
      chunking: fields.chunking_strategy ?? undefined,
      knownSpeakers: listKnownSpeakers(fields),
    }),
    unknown,
  }
}

function listKnownSpeakers(fields: TranscriptionFields): KnownSpeaker[] | undefined {
  const { known_speaker_names: names = [], known_speaker_references: references = [] } = fields
  if (names.length === 0) return undefined
  return names.map((name, index) => ({ name, reference: references[index] ?? '' }))
}

/** More than any vendor counts for a second of audio, and than anyone says in one. */
const audioTokensPerSecond = 50
const textTokensPerSecond = 30
const tokensPerRequest = 1000

/** The longest recording of a known speaker that vendors accept. */
const maxReferenceSeconds = 10

/** The most that a provider can count. Providers round up to whole seconds, and decoders add padding. */
export function measureTranscription(call: TranscriptionCall): RequestSize {
  const { recording, prompt = '', knownSpeakers = [] } = call
  const seconds = Math.ceil(recording.maxDurationMs / 1000) + 1 + knownSpeakers.length * maxReferenceSeconds
  return {
    promptTokens: tokensPerRequest + seconds * audioTokensPerSecond + Buffer.byteLength(prompt),
    outputTokens: tokensPerRequest + seconds * textTokensPerSecond,
    choices: 1,
    images: 0,
    hasAudio: true,
    hasLongCache: false,
    webSearches: 0,
    units: [{ billable: 'input_audio', unit: 'second', quantity: seconds * 1000, variants: [] }],
  }
}

/** The request as a prompt, for routing and records. */
export function buildPrompt({ prompt, stream }: TranscriptionCall): ModelCall {
  const parts = prompt === undefined ? [] : [{ kind: 'text' as const, text: prompt }]
  return { messages: [{ role: 'user', parts }], stream, unknown: [] }
}

/** Takes a millisecond or two to decode. */
const decodeSliceCharacters = 512 * 1024

/** The recording in the body of a JSON request. */
export async function decodeInputAudio(body: JsonObject): Promise<AudioSource> {
  const field = 'input_audio.data'
  const { data, format } = (asObject(body.input_audio) ?? {}) as { data: string; format: AudioFormat }
  if (data.length > Math.ceil(maxRecordingBytes / 3) * 4) throw recordingTooLargeError(field)
  const chunks: Buffer[] = []
  for (let at = 0; at < data.length; at += decodeSliceCharacters) {
    if (at > 0) await yieldToEventLoop()
    const slice = data.slice(at, at + decodeSliceCharacters)
    const chunk = Buffer.from(slice, 'base64')
    if (chunk.length !== countBytes(slice)) throw invalidFieldError(field, 'must be base64')
    chunks.push(chunk)
  }
  return { field, bytes: await joinBytes(chunks), format, filename: undefined, contentType: undefined }
}

/** Counts the bytes of valid base64, with or without padding. */
function countBytes(base64: string): number {
  return Math.floor((base64.replace(/={1,2}$/, '').length * 3) / 4)
}

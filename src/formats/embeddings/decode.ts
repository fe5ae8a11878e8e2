import { asNumber, asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import { type EmbeddingInput, type EmbeddingPart, type EmbeddingsCall, partsOf } from '../call/embeddings.ts'
import { computeRequestSize, type RequestSize, setPromptEstimate } from '../call/size.ts'
import type { OpaqueKind } from '../call/texts.ts'
import { decodeSource } from '../chat/parts-decode.ts'
import { pickUnknown } from '../fields.ts'
import { embeddingsRequest } from './schema.ts'

/** A validated request in the internal form, as a prompt, and its size. */
export function decodeEmbeddings(body: JsonObject): {
  body: JsonObject
  call: EmbeddingsCall
  prompt: ModelCall
  opaque: OpaqueKind[]
  size: RequestSize
} {
  const call = decodeCall(body)
  const prompt = toPrompt(call)
  const hasTokens = call.inputs.some(({ kind }) => kind === 'tokens')
  return { body, call, prompt, opaque: hasTokens ? ['tokens'] : [], size: measure(call, prompt) }
}

function decodeCall(body: JsonObject): EmbeddingsCall {
  const [dimensions, inputType, user] = [
    asNumber(body.dimensions),
    asString(body.input_type),
    asString(body.user),
  ]
  return {
    inputs: decodeInputs(body.input),
    encoding: body.encoding_format === 'base64' ? 'base64' : 'float',
    ...(dimensions !== undefined && { dimensions }),
    ...(inputType !== undefined && { inputType }),
    ...(user !== undefined && { user }),
    extra: pickUnknown(body, knownFields),
  }
}

const knownFields: ReadonlySet<string> = new Set(Object.keys(embeddingsRequest.shape))

/** A list of numbers is one input. */
function decodeInputs(input: unknown): EmbeddingInput[] {
  if (!Array.isArray(input)) return [{ kind: 'text', text: asString(input) ?? '' }]
  return typeof input[0] === 'number' ? [{ kind: 'tokens', tokens: input }] : input.map(decodeInput)
}

function decodeInput(value: unknown): EmbeddingInput {
  if (typeof value === 'string') return { kind: 'text', text: value }
  if (Array.isArray(value)) return { kind: 'tokens', tokens: value }
  const parts = asObjects(asObject(value)?.content).map(decodePart)
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))
  // Text alone needs no model with other modalities.
  return texts.length === parts.length ? { kind: 'text', text: texts.join('\n') } : { kind: 'parts', parts }
}

function decodePart(part: JsonObject): EmbeddingPart {
  const type = asString(part.type) ?? ''
  if (type === 'text') return { kind: 'text', text: asString(part.text) ?? '' }
  if (type === 'image_url') {
    const url = asString(asObject(part.image_url)?.url) ?? ''
    return { kind: 'image', source: decodeSource(url) }
  }
  const media = asObject(part[type]) ?? {}
  const { data, format } = decodeMedia(asString(media.data) ?? '', asString(media.format))
  if (type === 'input_audio') return { kind: 'audio', data, format: format ?? 'wav' }
  const [kind, prefix, usual] =
    type === 'input_video' ? (['video', 'video', 'mp4'] as const) : (['file', 'application', 'pdf'] as const)
  const mediaType = format?.includes('/') ? format : `${prefix}/${format ?? usual}`
  return { kind, source: { kind: 'data', mediaType, data } }
}

/** The format of a data URL is its media type, unless another is given. */
function decodeMedia(data: string, format: string | undefined): { data: string; format: string | undefined } {
  const source = decodeSource(data)
  return source.kind === 'data' ? { data: source.data, format: format ?? source.mediaType } : { data, format }
}

/** A message for each input. Tokens have no text, but need no estimate either. */
function toPrompt({ inputs }: EmbeddingsCall): ModelCall {
  const prompt: ModelCall = {
    messages: inputs.map((input) => ({ role: 'user', parts: partsOf(input) })),
    stream: false,
    unknown: [],
  }
  const tokens = inputs.reduce((sum, input) => sum + (input.kind === 'tokens' ? input.tokens.length : 0), 0)
  if (tokens > 0) setPromptEstimate(prompt, tokens)
  return prompt
}

function measure({ inputs }: EmbeddingsCall, prompt: ModelCall): RequestSize {
  const bytes = inputs.reduce((sum, input) => sum + countBytes(input), 0)
  return { ...computeRequestSize(prompt, {}, bytes), outputTokens: 0, prompts: inputs.length }
}

function countBytes(input: EmbeddingInput): number {
  if (input.kind === 'tokens') return input.tokens.length
  return Buffer.byteLength(input.kind === 'text' ? input.text : JSON.stringify(input.parts))
}

import {
  asNumber,
  asObject,
  asObjects,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { EmbeddingInput, EmbeddingPart } from '../call/embeddings.ts'
import type { MediaSource } from '../call/part.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import { decodeError } from '../chat/error.ts'
import { urlOf } from '../chat/parts-decode.ts'
import { decodeUsage, findUsage } from '../chat/usage.ts'
import { collectVectors, type DecodedEmbeddings, type EmbeddingsWireFormat } from './wire-format.ts'

/** The OpenAI format, with inputs of several parts as clients send them. */
export const openaiEmbeddings: EmbeddingsWireFormat = {
  name: 'embeddings',
  defaults: { headers: {} },
  accepts: ['text', 'tokens', 'image', 'audio', 'video', 'file'],
  encodeRequest: (call, { model }) => ({
    path: '/embeddings',
    headers: {},
    body: {
      ...call.extra,
      ...omitUndefined({
        model,
        input: encodeInputs(call.inputs),
        dimensions: call.dimensions,
        encoding_format: call.encoding,
        input_type: call.inputType,
        user: call.user,
      }),
    },
    dropped: [],
  }),
  decodeReply: decodeListReply,
  decodeError,
}

/** One text is not sent as a list, which a few servers do not accept. */
function encodeInputs(inputs: readonly EmbeddingInput[]): unknown {
  const [first] = inputs
  return inputs.length === 1 && first?.kind === 'text' ? first.text : inputs.map(encodeInput)
}

function encodeInput(input: EmbeddingInput): unknown {
  if (input.kind === 'text') return input.text
  return input.kind === 'tokens' ? input.tokens : { content: input.parts.map(encodePart) }
}

function encodePart(part: EmbeddingPart): JsonObject {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image':
      return { type: 'image_url', image_url: { url: toUrl(part.source) } }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    case 'video':
      return { type: 'input_video', input_video: encodeMedia(part.source) }
    case 'file':
      return { type: 'input_file', input_file: encodeMedia(part.source) }
  }
}

/** A file is named by its URI. */
export function toUrl(source: MediaSource): string {
  return urlOf(source) ?? (source.kind === 'file' ? source.id : '')
}

function encodeMedia(source: MediaSource): JsonObject {
  if (source.kind !== 'data') return { data: toUrl(source) }
  return { data: source.data, format: source.mediaType.slice(source.mediaType.indexOf('/') + 1) }
}

/** `{data: [{index, embedding}], usage}`, in the order of the indexes. */
export function decodeListReply(body: JsonObject): DecodedEmbeddings | null {
  if (!Array.isArray(body.data)) return null
  const items = asObjects(body.data)
  const ordered: unknown[] = new Array(items.length).fill(undefined)
  for (const [position, { index, embedding }] of items.entries()) {
    const at = asNumber(index) ?? position
    if (at in ordered) ordered[at] = embedding
  }
  const vectors = collectVectors(ordered)
  return vectors && { vectors, usage: decodeListUsage(body), units: [] }
}

/** Some vendors report the total only, which is the prompt. */
function decodeListUsage(body: JsonObject): Usage | null {
  const counted = findUsage(body)
  // There is no output, whatever is counted as such.
  if (counted) return { ...decodeUsage({ ...counted, completion_tokens: 0 }), output: 0, reasoning: 0 }
  const total = asNumber(asObject(body.usage)?.total_tokens)
  return total === undefined ? null : { ...zeroUsage, input: total }
}

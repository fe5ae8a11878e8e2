import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { type EmbeddingInput, type EmbeddingPart, type EmbeddingsCall, partsOf } from '../call/embeddings.ts'
import { decodeError } from '../chat/error.ts'
import type { MediaUpstreamRequest } from '../media.ts'
import { translateInputType } from './input-type.ts'
import { decodeListReply, toUrl } from './openai.ts'
import type { EmbeddingsWireFormat } from './wire-format.ts'

/** Voyage's format, which has a path of its own for inputs with images. */
export const voyageEmbeddings: EmbeddingsWireFormat = {
  name: 'voyage-embeddings',
  defaults: { headers: {} },
  accepts: ['text', 'image', 'video'],
  encodeRequest: (call, { model }) => {
    const isMultimodal = /multimodal/.test(model) || call.inputs.some(({ kind }) => kind === 'parts')
    const shared = {
      model,
      input_type: translateInputType(call.inputType, { query: 'query', document: 'document' }),
      output_dimension: call.dimensions,
    }
    const encoding = call.encoding === 'base64' ? 'base64' : undefined
    const body = isMultimodal
      ? { ...shared, inputs: call.inputs.map(encodeInput), output_encoding: encoding }
      : { ...shared, input: call.inputs.map(toText), encoding_format: encoding }
    return buildRequest(call, isMultimodal, { ...omitUndefined(body) })
  },
  decodeReply: decodeListReply,
  decodeError,
}

function buildRequest(call: EmbeddingsCall, isMultimodal: boolean, body: JsonObject): MediaUpstreamRequest {
  const dropped = Object.keys(call.extra)
  if (call.user !== undefined) dropped.push('user')
  return { path: isMultimodal ? '/multimodalembeddings' : '/embeddings', headers: {}, body, dropped }
}

function toText(input: EmbeddingInput): string {
  return input.kind === 'text' ? input.text : ''
}

function encodeInput(input: EmbeddingInput): JsonObject {
  return { content: partsOf(input).map(encodePart) }
}

/** Data is sent as a data URL. */
function encodePart(part: EmbeddingPart): JsonObject {
  if (part.kind !== 'image' && part.kind !== 'video')
    return { type: 'text', text: part.kind === 'text' ? part.text : '' }
  const type = `${part.kind}_${part.source.kind === 'data' ? 'base64' : 'url'}`
  return { type, [type]: toUrl(part.source) }
}

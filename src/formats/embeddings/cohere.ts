import { asCount, asObject, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { type EmbeddingInput, type EmbeddingPart, type EmbeddingsCall, partsOf } from '../call/embeddings.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import { decodeError } from '../chat/error.ts'
import { hasAnyCount } from '../token-counts.ts'
import { translateInputType } from './input-type.ts'
import { toUrl } from './openai.ts'
import { collectVectors, type DecodedEmbeddings, type EmbeddingsWireFormat } from './wire-format.ts'

const inputTypes = { query: 'search_query', document: 'search_document' }

/** Version 2 of Cohere's format. */
export const cohereEmbeddings: EmbeddingsWireFormat = {
  name: 'cohere-embeddings',
  defaults: { headers: {} },
  accepts: ['text', 'image'],
  encodeRequest: (call, { model }) => ({
    path: '/embed',
    headers: {},
    body: {
      ...omitUndefined({
        model,
        ...encodeInputs(call),
        // Required.
        input_type: translateInputType(call.inputType, inputTypes) ?? inputTypes.document,
        embedding_types: [call.encoding],
        output_dimension: call.dimensions,
      }),
    },
    dropped: [...Object.keys(call.extra), ...(call.user === undefined ? [] : ['user'])],
  }),
  decodeReply,
  decodeError,
}

function encodeInputs({ inputs }: EmbeddingsCall): JsonObject {
  const texts = inputs.flatMap((input) => (input.kind === 'text' ? [input.text] : []))
  return texts.length === inputs.length ? { texts } : { inputs: inputs.map(encodeInput) }
}

function encodeInput(input: EmbeddingInput): JsonObject {
  return { content: partsOf(input).map(encodePart) }
}

function encodePart(part: EmbeddingPart): JsonObject {
  return part.kind === 'image'
    ? { type: 'image_url', image_url: { url: toUrl(part.source) } }
    : { type: 'text', text: part.kind === 'text' ? part.text : '' }
}

/** `{embeddings: {float: [...]}, meta: {billed_units}}`, or with `base64`. */
function decodeReply(body: JsonObject): DecodedEmbeddings | null {
  const embeddings = asObject(body.embeddings)
  const list = embeddings?.float ?? embeddings?.base64
  const vectors = Array.isArray(list) ? collectVectors(list) : null
  return vectors && { vectors, usage: decodeUsage(asObject(asObject(body.meta)?.billed_units)), units: [] }
}

function decodeUsage(billed: JsonObject | undefined): Usage | null {
  if (!billed || !hasAnyCount(billed, ['input_tokens', 'image_tokens'])) return null
  return { ...zeroUsage, input: asCount(billed.input_tokens), inputImage: asCount(billed.image_tokens) }
}

import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import type { EmbeddingsReply } from '../call/embeddings.ts'
import type { RerankReply } from '../call/rerank.ts'
import { countPromptTokens } from '../call/usage.ts'
import { encodeCost } from '../chat/usage.ts'
import { type TranslatedBody, translateBody } from '../client-body.ts'
import type { MediaReplyContext } from '../media.ts'
import { cohereEmbedRequest } from './schema.ts'

/** Translates into a body of `POST /embeddings`, which has one encoding. */
export function translateEmbed(body: JsonObject): TranslatedBody {
  const [type, ...others] = listTypes(body)
  if (others.length > 0) throw invalidFieldError('embedding_types', 'must have one type')
  return translateBody(body, cohereEmbedRequest.shape, {
    input: translateInputs(body),
    input_type: body.input_type ?? undefined,
    dimensions: body.output_dimension ?? undefined,
    encoding_format: type,
  })
}

function listTypes({ embedding_types: types }: JsonObject): string[] {
  return Array.isArray(types) ? [...new Set(types)] : []
}

/** Texts, then images, then what consists of both. */
function translateInputs(body: JsonObject): unknown[] {
  const [texts, images] = [body.texts, body.images].map((list) => (Array.isArray(list) ? list : []))
  const linked = (images ?? []).map((url) => ({ content: [{ type: 'image_url', image_url: { url } }] }))
  const mixed = asObjects(body.inputs)
  const kinds = [texts ?? [], linked, mixed].filter((list) => list.length > 0)
  if (kinds.length === 0) throw invalidFieldError('texts', 'is required, or images or inputs')
  if (kinds.length > 1 && mixed.length === 0)
    throw invalidFieldError('images', 'cannot be combined with texts; send both as inputs')
  if (kinds.length > 1) throw invalidFieldError('inputs', 'cannot be combined with texts or images')
  return kinds.flat()
}

const apiVersion = { version: '2' }

function encodeMeta({ usage, cost }: MediaReplyContext, billed: JsonObject): JsonObject {
  return {
    api_version: apiVersion,
    billed_units: billed,
    tokens: { input_tokens: countPromptTokens(usage) },
    ...encodeCost(cost),
  }
}

/** Encodes the reply as pieces of JSON text: the vectors are not parsed. */
export function encodeEmbed(
  { vectors }: EmbeddingsReply,
  context: MediaReplyContext,
  body: JsonObject,
): { contentType: string; text: string[] } {
  const { id, model, provider, usage, metadata } = context
  const image = usage.inputImage > 0 ? { image_tokens: usage.inputImage } : {}
  const rest = {
    ...(Array.isArray(body.texts) && { texts: body.texts }),
    meta: encodeMeta(context, { input_tokens: countPromptTokens(usage) - usage.inputImage, ...image }),
    response_type: 'embeddings_by_type',
    ...(metadata && { service_metadata: metadata }),
  }
  const [type = 'float'] = listTypes(body)
  const head = JSON.stringify({ id, model, provider }).slice(0, -1)
  const items = vectors.flatMap((vector, index) => (index === 0 ? [vector] : [',', vector]))
  const text = [`${head},"embeddings":{"${type}":[`, ...items, `]},${JSON.stringify(rest).slice(1)}`]
  return { contentType: 'application/json;charset=utf-8', text }
}

export function encodeRerank({ results, units }: RerankReply, context: MediaReplyContext): JsonObject {
  const { id, model, provider, metadata } = context
  return {
    id,
    model,
    provider,
    results: results.map(({ index, score }) => ({ index, relevance_score: score })),
    meta: encodeMeta(context, { search_units: units.reduce((sum, { quantity }) => sum + quantity, 0) }),
    ...(metadata && { service_metadata: metadata }),
  }
}

import { translateInputType } from '../../formats/embeddings/input-type.ts'
import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { WireAdapter, WireRequest } from '../provider.ts'

/** An adapter that changes the body alone. */
function defineBody(adaptBody: (body: JsonObject) => JsonObject, droppedFields: string[] = []): WireAdapter {
  return {
    adaptRequest: ({ path, headers, body }: WireRequest) => ({ path, headers, body: adaptBody(body) }),
    droppedFields,
  }
}

/** Replies with numbers alone, which are converted. */
export const floatOnly = defineBody(({ encoding_format: _rejected, ...body }) => body)

export const mistralEmbeddings = defineBody(
  ({ dimensions, ...body }) => ({ ...body, ...omitUndefined({ output_dimension: dimensions }) }),
  ['input_type', 'user'],
)

/** Asymmetric models require the input type. */
export const nvidiaEmbeddings = defineBody((body) => ({
  ...body,
  input_type:
    translateInputType(asString(body.input_type), { query: 'query', document: 'passage' }) ?? 'query',
}))

export const jinaEmbeddings = defineBody(
  ({ encoding_format: embedding_type, input_type, ...body }) => ({
    ...body,
    ...omitUndefined({ embedding_type, task: translateInputType(asString(input_type), jinaTasks) }),
  }),
  ['user'],
)

const jinaTasks = {
  query: 'retrieval.query',
  document: 'retrieval.passage',
  classification: 'classification',
  clustering: 'separation',
}

/** The vendor's own API is next to the compatible one, which lacks reranking, citations and more. */
export const cohereNative: WireAdapter = {
  adaptRequest: ({ path, headers, body }) => ({ path: `/../../v2${path}`, headers, body }),
}

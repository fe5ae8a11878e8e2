import { omitUndefined } from '../../platform/json/json-values.ts'
import { cohereRerank } from './cohere.ts'
import type { RerankWireFormat } from './wire-format.ts'

/** Voyage's format: it names the number of results otherwise, and accepts no further fields. */
export const voyageRerank: RerankWireFormat = {
  ...cohereRerank,
  name: 'voyage-rerank',
  acceptsImages: false,
  encodeRequest: ({ query, documents, topN, extra }, { model }) => ({
    path: '/rerank',
    headers: {},
    body: omitUndefined({ model, query, documents: documents.map(({ text }) => text), top_k: topN }),
    dropped: Object.keys(extra),
  }),
}

import { omitUndefined } from '../../platform/json/json-values.ts'
import { cohereRerank } from './cohere.ts'
import type { RerankDialect } from './dialect.ts'

/** Voyage's format: it names the number of results otherwise, and accepts no further fields. */
export const voyageRerank: RerankDialect = {
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

import type { JsonObject } from '../../platform/json/json-values.ts'
import type { RerankCall, RerankReply } from '../call/rerank.ts'
import { countPromptTokens } from '../call/usage.ts'
import { encodeCost } from '../chat/usage.ts'
import type { MediaReplyContext } from '../media.ts'

/** The reply in the client's format, with the documents of the request. */
export function encodeRerank(
  { results, units }: RerankReply,
  { id, model, provider, usage, cost, metadata }: MediaReplyContext,
  { documents }: RerankCall,
): JsonObject {
  return {
    id,
    model,
    provider,
    results: results.map(({ index, score }) => ({
      index,
      relevance_score: score,
      document: { ...documents[index] },
    })),
    usage: {
      search_units: units.reduce((sum, { quantity }) => sum + quantity, 0),
      total_tokens: countPromptTokens(usage),
      ...encodeCost(cost),
    },
    ...(metadata && { service_metadata: metadata }),
  }
}

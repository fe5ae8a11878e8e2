import { asNumber, asObject } from '../../platform/json/json-values.ts'
import type { RankedDocument, RerankCall, RerankReply } from '../call/rerank.ts'
import type { JsonMediaWireFormat } from '../media.ts'

/** A wire format for reranking. */
export interface RerankWireFormat extends JsonMediaWireFormat<RerankCall, RerankReply> {
  acceptsImages: boolean
}

/**
 * The most relevant documents first, as many as requested. Null unless each result is a different document with a
 * score.
 */
export function rankResults(values: unknown, { documents, topN = documents.length }: RerankCall) {
  if (!Array.isArray(values)) return null
  const scores = new Map<number, number>()
  for (const value of values) {
    const { index, relevance_score, score } = asObject(value) ?? {}
    const [position, relevance] = [asNumber(index), asNumber(relevance_score) ?? asNumber(score)]
    if (position === undefined || relevance === undefined || scores.has(position)) return null
    if (documents[position] === undefined) return null
    scores.set(position, relevance)
  }
  const count = Math.min(topN, documents.length)
  const results: RankedDocument[] = [...scores].map(([index, score]) => ({ index, score }))
  return scores.size < count ? null : sortByScore(results).slice(0, count)
}

/** Equal scores stay in the order of the documents. */
export function sortByScore(results: RankedDocument[]): RankedDocument[] {
  return results.sort((a, b) => b.score - a.score || a.index - b.index)
}

import { countSearches, type RerankCall, type RerankReply } from '../../../formats/call/rerank.ts'
import { zeroUsage } from '../../../formats/call/usage.ts'
import { sortByScore } from '../../../formats/rerank/wire-format.ts'
import type { MediaSimulator } from '../simulation.ts'
import { rankDocuments } from './artifacts/bm25.ts'
import { buildFailure, readDirectives } from './directives.ts'
import { createTokenCounter, imageTokens } from './tokens.ts'

/** Ranks documents by the words they share with the query; images share none. */
export const simulateRerank: MediaSimulator<RerankCall, RerankReply> = async (call, _model, { sleep }) => {
  const { directives, rest: query } = readDirectives(call.query)
  if (directives.startDelayMs) await sleep(directives.startDelayMs)
  const failure = buildFailure(directives) ?? (directives.empty && emptyFailure)
  if (failure) return { failure }
  const { documents, topN = documents.length } = call
  const scores = await rankDocuments(
    query,
    documents.map(({ text = '' }) => text),
  )
  const results = sortByScore(scores.map((score, index) => ({ index, score }))).slice(0, topN)
  // The query is read with each document.
  const countTokens = createTokenCounter(call.query)
  const tokens = documents.reduce(
    (sum, { text = '', image }) => sum + countTokens(text) + (image === undefined ? 0 : imageTokens),
    0,
  )
  const usage = directives.noUsage ? null : { ...zeroUsage, input: tokens }
  return { reply: { results, usage, units: [countSearches(documents.length)] } }
}

const emptyFailure = {
  kind: 'provider_unavailable',
  status: null,
  message: 'The sandbox was directed to send no results.',
} as const

import {
  asCount,
  asObject,
  firstFilled,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import { countSearches, type RerankCall, type RerankReply, toSearches } from '../call/rerank.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import { decodeError } from '../chat/error.ts'
import { hasAnyCount } from '../token-counts.ts'
import { type RerankWireFormat, rankResults } from './wire-format.ts'

/** Cohere's format, which Jina, vLLM and most others share. */
export const cohereRerank: RerankWireFormat = {
  name: 'rerank',
  defaults: { headers: {} },
  acceptsImages: true,
  encodeRequest: (call, { model }) => ({
    path: '/rerank',
    headers: {},
    body: {
      ...call.extra,
      ...omitUndefined({
        model,
        query: call.query,
        documents: encodeDocuments(call),
        top_n: call.topN,
      }),
    },
    dropped: [],
  }),
  decodeReply,
  decodeError,
}

/** Texts alone are sent as such: not every vendor accepts objects. */
function encodeDocuments({ documents }: RerankCall): unknown[] {
  const isPlain = documents.every(({ image }) => image === undefined)
  return isPlain ? documents.map(({ text }) => text) : documents
}

/** `{results: [{index, relevance_score}]}`; a few vendors name the list `data` or the number `score`. */
export function decodeReply(body: JsonObject, call: RerankCall): RerankReply | null {
  const results = rankResults(firstFilled(body.results, body.data), call)
  return results && { results, usage: decodeUsage(body), units: [decodeSearches(body, call)] }
}

function decodeSearches({ meta }: JsonObject, { documents }: RerankCall) {
  const billed = asObject(asObject(meta)?.billed_units)
  return billed && hasAnyCount(billed, ['search_units'])
    ? toSearches(asCount(billed.search_units))
    : countSearches(documents.length)
}

/** Everything is input. */
const tokenFields = ['total_tokens', 'prompt_tokens', 'input_tokens']

function decodeUsage({ usage, meta }: JsonObject): Usage | null {
  const { tokens, billed_units } = asObject(meta) ?? {}
  for (const counts of [asObject(usage), asObject(tokens), asObject(billed_units)]) {
    const name = counts && tokenFields.find((field) => hasAnyCount(counts, [field]))
    if (name) return { ...zeroUsage, input: asCount(counts[name]) }
  }
  return null
}

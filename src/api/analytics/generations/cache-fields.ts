import { z } from 'zod'
import { type CacheMode, cacheModes } from '../../../formats/schema/cache-fields.ts'
import type { GenerationTable } from '../../../platform/db/generation-table.ts'

/** What the record of a generation says about the response cache. */
export const cacheFields = {
  cache: z
    .enum(cacheModes)
    .nullable()
    .describe(
      'Whether the reply was that to an identical (`exact`) or to a similar request; null if neither.',
    ),
  cache_similarity: z
    .number()
    .nullable()
    .describe('The cosine similarity of the texts, for a reply to a similar request.'),
}

type CacheColumns = Pick<GenerationTable, 'response_cache_source_id' | 'cache_similarity'>

export function describeCache({
  response_cache_source_id: source,
  cache_similarity: similarity,
}: CacheColumns) {
  const hit: CacheMode = similarity === null ? 'exact' : 'semantic'
  return {
    cache: source === null ? null : hit,
    cache_similarity: similarity === null ? null : similarity / 10_000,
  }
}

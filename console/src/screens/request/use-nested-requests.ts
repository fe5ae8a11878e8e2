import { useQueries } from '@tanstack/react-query'
import { api, type Schemas } from '../../api/client.ts'
import type { NestedRequest } from './waterfall.ts'

/** Requests that are placed on the timeline; the start of further ones is not shown. */
const maxNested = 20

/** The requests that were made for another one, as far as they may be read. */
export function useNestedRequests(lines: readonly Schemas['BillLine'][]): NestedRequest[] {
  const ids = lines.flatMap(({ generation_id }) => generation_id ?? []).slice(0, maxNested)
  const results = useQueries({
    queries: ids.map((id) =>
      api.queryOptions('get', '/generations', { params: { query: { id, limit: 1 } } }),
    ),
  })
  return results.flatMap(({ data }) => data?.data ?? [])
}

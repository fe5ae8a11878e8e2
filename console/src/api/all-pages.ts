import { type QueryFunction, type SkipToken, skipToken } from '@tanstack/react-query'

interface Page {
  data: unknown[]
  total_count: number
}

interface PageOptions<List extends Page, Key extends readonly unknown[]> {
  queryKey: Key
  queryFn?: QueryFunction<List, Key> | SkipToken | undefined
}

/** The API has no larger pages. */
const pageSize = 100
/** A list with more is cut off: reading it would take too long. */
const maxPages = 100

/** The same list with all of its pages, read one after another: for choices, and for names of ids. */
export function allPages<List extends Page, Key extends readonly unknown[]>({
  queryKey,
  queryFn,
}: PageOptions<List, Key>) {
  return {
    queryKey: [queryKey[0], queryKey[1], queryKey[2], 'all'] as readonly unknown[],
    queryFn: async (context: Parameters<QueryFunction<List, readonly unknown[]>>[0]): Promise<List> => {
      if (!queryFn || queryFn === skipToken) throw new Error('The list cannot be read.')
      const read = (offset: number) =>
        queryFn({ ...context, queryKey: atOffset(queryKey, offset) } as Parameters<typeof queryFn>[0])
      const first = await read(0)
      const rows = [...first.data]
      for (let pages = 1; rows.length < first.total_count && pages < maxPages; pages++) {
        const { data } = await read(rows.length)
        if (data.length === 0) break
        rows.push(...data)
      }
      return { ...first, data: rows }
    },
  }
}

interface Init {
  params?: { query?: object }
}

/** `api.queryOptions` reads what its key says. */
function atOffset<Key extends readonly unknown[]>(queryKey: Key, offset: number): Key {
  const [method, path, init] = queryKey as readonly unknown[] as [string, string, Init | undefined]
  const query = { ...init?.params?.query, offset, limit: pageSize }
  return [method, path, { ...init, params: { ...init?.params, query } }] as readonly unknown[] as Key
}

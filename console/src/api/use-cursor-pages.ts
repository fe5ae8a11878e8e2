import { useInfiniteQuery } from '@tanstack/react-query'

interface CursorPage {
  data: unknown[]
  cursor: string | null
}

/** Reads a list that the server pages by cursor, further with each call of `fetchNextPage`. */
export function useCursorPages<Page extends CursorPage>(
  { queryKey }: { queryKey: readonly unknown[] },
  readPage: (position: { cursor?: string }, signal: AbortSignal) => Promise<{ data?: Page }>,
) {
  return useInfiniteQuery({
    queryKey: [...queryKey, 'pages'],
    queryFn: async ({ pageParam, signal }) => {
      const { data } = await readPage(pageParam === null ? {} : { cursor: pageParam }, signal)
      if (!data) throw new Error('The server returned no page.')
      return data
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
  })
}

import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { client } from '../../api/client.ts'
import type { queryOf } from './search.ts'

export type ListQuery = ReturnType<typeof queryOf>

export const pageSize = 100
/** More rows than anybody reads: filters find the rest. */
const maxPages = 100
/** Pages without a match after which the person decides whether to search on. */
const maxEmptyPages = 5

export async function fetchPage(query: ListQuery, cursor: string | null, signal?: AbortSignal) {
  const { data } = await client.GET('/generations', {
    params: { query: { ...query, limit: pageSize, ...(cursor !== null && { cursor }) } },
    ...(signal && { signal }),
  })
  if (!data) throw new Error('The server returned no requests.')
  return data
}

/** The list, page by page. */
export function useRequests(query: ListQuery) {
  const list = useInfiniteQuery({
    queryKey: ['get', '/generations', { params: { query } }, 'pages'],
    queryFn: ({ pageParam, signal }) => fetchPage(query, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last, pages) => (pages.length < maxPages ? last.cursor : null),
    refetchOnWindowFocus: false,
  })
  const pages = list.data?.pages ?? []
  const emptyPages = pages.length - 1 - pages.findLastIndex(({ data }) => data.length > 0)
  const mustDecide = emptyPages >= maxEmptyPages
  const { hasNextPage, isFetching, isError, fetchNextPage } = list
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetching && !isError && !mustDecide) void fetchNextPage()
  }, [hasNextPage, isFetching, isError, mustDecide, fetchNextPage])
  return {
    list,
    rows: pages.flatMap(({ data }) => data),
    searchedTo: pages.at(-1)?.searched_to ?? null,
    isFull: pages.length >= maxPages && pages.at(-1)?.cursor !== null,
    mustDecide,
    loadMore,
  }
}

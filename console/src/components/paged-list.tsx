import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Pager } from './pager.tsx'
import { QueryView } from './query-view.tsx'

interface PagedListProps<Row> {
  query: UseQueryResult<{ data: Row[]; total_count: number }, unknown>
  offset: number
  /** Rows of a page, at most. */
  size: number
  onPage: (offset: number) => void
  /** The content when there are no rows. */
  empty: ReactNode
  children: (rows: Row[]) => ReactNode
}

/** A list that the server pages by offset, with what stands for it until it is there. */
export function PagedList<Row>({ query, offset, size, onPage, empty, children }: PagedListProps<Row>) {
  return (
    <QueryView query={query}>
      {({ data, total_count }) => (
        <>
          {data.length === 0 ? empty : children(data)}
          <Pager offset={offset} size={size} total={total_count} onChange={onPage} />
        </>
      )}
    </QueryView>
  )
}

import { Button, Group } from '@mantine/core'
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { QueryView } from './query-view.tsx'

interface CursorListProps<Row> {
  query: UseInfiniteQueryResult<InfiniteData<{ data: Row[] }>, unknown>
  /** In place of no rows. */
  empty: ReactNode
  /** What the button for further rows says. */
  more: string
  children: (rows: Row[]) => ReactNode
}

/** A list that the server pages by cursor. Further pages are read when the person asks for them. */
export function CursorList<Row>({ query, empty, more, children }: CursorListProps<Row>) {
  return (
    <QueryView query={query}>
      {({ pages }) => {
        const rows = pages.flatMap(({ data }) => data)
        return (
          <>
            {rows.length === 0 ? empty : children(rows)}
            {query.hasNextPage && (
              <Group justify="center">
                <Button
                  variant="default"
                  size="xs"
                  loading={query.isFetchingNextPage}
                  onClick={() => void query.fetchNextPage()}
                >
                  {more}
                </Button>
              </Group>
            )}
          </>
        )
      }}
    </QueryView>
  )
}

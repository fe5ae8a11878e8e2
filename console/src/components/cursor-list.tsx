import { Button, Group, Text } from '@mantine/core'
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { QueryView } from './query-view.tsx'

/** More rows than anybody reads. */
const maxPages = 20

interface CursorListProps<Row> {
  query: UseInfiniteQueryResult<InfiniteData<{ data: Row[] }>, unknown>
  /** The content when there are no rows. */
  empty: ReactNode
  /** The label of the button for further rows. */
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
            {query.hasNextPage && pages.length >= maxPages && (
              <Text size="sm">More results are available from the API.</Text>
            )}
            {query.hasNextPage && pages.length < maxPages && (
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

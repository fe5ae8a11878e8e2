import { Button, Group, Text } from '@mantine/core'

/** More rows than anybody reads. */
const maxPages = 20

interface MorePagesProps {
  list: {
    data: { pages: unknown[] } | undefined
    hasNextPage: boolean
    isFetchingNextPage: boolean
    fetchNextPage: () => Promise<unknown>
  }
}

/** Loads the next page of a list that the server pages by position. Nothing, if there is none. */
export function MorePages({ list }: MorePagesProps) {
  if (!list.hasNextPage) return null
  if ((list.data?.pages.length ?? 0) >= maxPages) {
    return <Text size="sm">There are more. The API lists them all.</Text>
  }
  return (
    <Group>
      <Button
        size="xs"
        variant="default"
        loading={list.isFetchingNextPage}
        onClick={() => void list.fetchNextPage()}
      >
        Load older ones
      </Button>
    </Group>
  )
}

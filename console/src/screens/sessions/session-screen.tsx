import { Button, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useMemo } from 'react'
import { client } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Figure } from '../../components/figure.tsx'
import { escapeFilterValue } from '../../components/filter-value.ts'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, formatSpan } from '../../format/number.ts'
import { type SessionRequest, type SessionTotals, timelineOf, totalsOf } from './timeline.ts'
import { TimelineView } from './timeline-view.tsx'

export const screen = createLazyRoute('/sessions/$id')({ component: SessionScreen })

const dayMs = 86_400_000
/** A session is searched this long before and after a moment of it. */
const aroundMs = 2 * dayMs
const periodMs = 30 * dayMs
const pageSize = 100

function SessionScreen() {
  const { id } = screen.useParams()
  const { at } = screen.useSearch()
  const query = useMemo(() => queryOf(id, at, Date.now()), [id, at])
  const list = useInfiniteQuery({
    queryKey: ['get', '/generations', { params: { query } }, 'session'],
    queryFn: async ({ pageParam, signal }) => {
      const page = { ...query, ...(pageParam !== null && { cursor: pageParam }) }
      const { data } = await client.GET('/generations', { params: { query: page }, signal })
      if (!data) throw new Error('The server returned no requests.')
      return data
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    refetchOnWindowFocus: false,
  })
  const requests = list.data?.pages.flatMap(({ data }) => data) ?? []
  const searchedTo = list.data?.pages.at(-1)?.searched_to ?? null
  return (
    <Page
      title={`Session ${id}`}
      description="The requests of a conversation or an agent run in order of time, with their tools and the requests made for them."
      calls={[{ method: 'GET', path: '/generations', query }]}
    >
      <TextLink to="/requests" search={{ session_id: escapeFilterValue(id), period: 'all' }}>
        Show in Requests
      </TextLink>
      <QueryView query={list}>
        {() =>
          requests.length === 0 && !list.hasNextPage ? (
            <EmptyState title="No requests of this session">
              None in {at ? 'these days' : 'the last 30 days'}, or you may not see them.
            </EmptyState>
          ) : (
            <Session requests={requests} />
          )
        }
      </QueryView>
      {list.hasNextPage && (
        <Group gap="sm">
          <Text size="sm" c="dimmed">
            Searched back to <Time iso={searchedTo} />.
          </Text>
          <Button
            size="compact-xs"
            variant="default"
            loading={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            Search further
          </Button>
        </Group>
      )}
    </Page>
  )
}

function queryOf(id: string, at: string | undefined, now: number) {
  const moment = at === undefined ? null : Date.parse(at)
  const [from, to] = moment === null ? [now - periodMs, null] : [moment - aroundMs, moment + aroundMs]
  return {
    session_id: escapeFilterValue(id),
    include_lines: true,
    limit: pageSize,
    from: new Date(from).toISOString(),
    ...(to !== null && { to: new Date(to).toISOString() }),
  }
}

function Session({ requests }: { requests: SessionRequest[] }) {
  const session = useSession()
  const totals = totalsOf(requests)
  const endUser = requests.find(({ external_user }) => external_user !== null)?.external_user
  return (
    <Stack>
      <Totals totals={totals} />
      <Panel
        title="Timeline"
        description={
          endUser &&
          mayDoEverywhere(session, 'activity:read') && (
            <>
              End user:{' '}
              <TextLink to="/end-users/$id" params={{ id: endUser }}>
                {endUser}
              </TextLink>
            </>
          )
        }
      >
        <TimelineView rows={timelineOf(requests)} />
      </Panel>
    </Stack>
  )
}

function Totals({ totals: { requests, errors, cost, tokens, duration } }: { totals: SessionTotals }) {
  return (
    <SimpleGrid cols={{ base: 2, sm: 5 }}>
      <Figure label="Requests">{formatCount(requests)}</Figure>
      <Figure label="Errors">{formatCount(errors)}</Figure>
      <Figure label="Cost">
        <Money value={cost} />
      </Figure>
      <Figure label="Tokens">{formatCount(tokens)}</Figure>
      <Figure label="Duration">{formatSpan(duration)}</Figure>
    </SimpleGrid>
  )
}

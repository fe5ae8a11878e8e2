import { Alert, Button, Group, Stack, Switch, Text } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { type ComponentProps, useMemo, useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { Time } from '../../components/time.tsx'
import { ColumnMenu } from './column-menu.tsx'
import { defaultVisibility } from './columns.tsx'
import { ContentNote } from './content-note.tsx'
import { ExportButton } from './export-button.tsx'
import { Filters } from './filters.tsx'
import { bucketsOf, histogramQuery } from './histogram.ts'
import { HistogramView } from './histogram-view.tsx'
import { RequestTable } from './request-table.tsx'
import { filterNames, hasOwnRange, queryOf, type RequestSearch, withoutRange } from './search.ts'
import { useLiveTail } from './use-live-tail.ts'
import { type ListQuery, pageSize, useRequests } from './use-requests.ts'

export const screen = createLazyRoute('/requests')({ component: RequestsScreen })

function RequestsScreen() {
  const chosen = screen.useSearch()
  const { id: workspaceId } = useWorkspace()
  const navigate = screen.useNavigate()
  const [now, setNow] = useState(Date.now)
  // The menu says which workspaces are shown; a link may narrow all of them to one.
  const search = useMemo(
    () => (workspaceId === null ? chosen : { ...chosen, workspace_id: workspaceId }),
    [chosen, workspaceId],
  )
  const query = useMemo(() => queryOf(search, now), [search, now])
  const setSearch = (next: RequestSearch) => {
    setNow(Date.now())
    void navigate({ search: next })
  }
  const calls = [
    { method: 'GET', path: '/generations', query: { ...query, limit: pageSize } },
    ...(search.text === undefined
      ? [{ method: 'GET', path: '/generations/stream', query }, callOf(histogramOptions(search, now))]
      : []),
  ]
  return (
    <Page
      title="Requests"
      docs="records"
      scope="listed"
      description="Every request to a model, newest first, including rejected ones. Open one to see why it was routed, priced or rejected."
      calls={calls}
      actions={
        <>
          <SavedViews screen="requests" />
          <ExportButton query={query} />
        </>
      }
    >
      <Stack gap="sm">
        <Filters search={chosen} onChange={setSearch} />
        {search.text === undefined && search.id === undefined && (
          <Histogram
            search={search}
            now={now}
            onZoom={(period) => setSearch({ ...chosen, ...period })}
            onReset={hasOwnRange(chosen) ? () => setSearch(withoutRange(chosen)) : null}
          />
        )}
        <ContentNote workspaceId={search.workspace_id} />
        <RequestList
          query={query}
          isFiltered={filterNames.some((name) => chosen[name] !== undefined)}
          onRefresh={() => setNow(Date.now())}
        />
      </Stack>
    </Page>
  )
}

function histogramOptions(search: RequestSearch, now: number) {
  return api.queryOptions('get', '/generations/histogram', {
    params: { query: histogramQuery(search, now) },
  })
}

interface HistogramProps extends Pick<ComponentProps<typeof HistogramView>, 'onZoom' | 'onReset'> {
  search: RequestSearch
  now: number
}

function Histogram({ search, now, ...zoom }: HistogramProps) {
  const query = useQuery(histogramOptions(search, now))
  return (
    <QueryView query={query}>
      {(reply) => <HistogramView buckets={bucketsOf(reply)} searchedTo={reply.searched_to} {...zoom} />}
    </QueryView>
  )
}

interface RequestListProps {
  query: ListQuery
  isFiltered: boolean
  onRefresh: () => void
}

function RequestList({ query, isFiltered, onRefresh }: RequestListProps) {
  const [isLive, setLive] = useState(false)
  const [isOver, setOver] = useState(false)
  const [visibility, setVisibility] = useLocalStorage({
    key: 'headgate-request-columns',
    defaultValue: defaultVisibility,
    getInitialValueInEffect: false,
  })
  const found = useRequests(query)
  const { list } = found
  const tail = useLiveTail(query, {
    ...{ isOn: isLive && query.text === undefined, isPaused: isOver },
    onReconnect: () => void list.refetch(),
  })
  const rows = useMemo(() => {
    const fresh = new Set(tail.rows.map(({ id }) => id))
    return [
      ...tail.rows,
      ...(list.data?.pages ?? []).flatMap(({ data }) => data.filter(({ id }) => !fresh.has(id))),
    ]
  }, [tail.rows, list.data])
  if (list.isPending) return <QueryView query={list}>{() => null}</QueryView>
  // An error says nothing about what is there.
  const isEmpty = rows.length === 0 && !list.hasNextPage && !isLive && !list.isError
  return (
    <>
      <Group justify="space-between" gap="xs">
        <Group gap="sm">
          <Switch
            size="sm"
            label="Live"
            checked={isLive && query.text === undefined}
            disabled={query.text !== undefined}
            onChange={(event) => setLive(event.currentTarget.checked)}
          />
          <Text size="sm" c="dimmed" role="status">
            {isLive && describeTail(tail)}
          </Text>
        </Group>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={onRefresh}>
            Refresh
          </Button>
          <ColumnMenu visibility={visibility} onChange={setVisibility} />
        </Group>
      </Group>
      {tail.note !== null && <Alert color="yellow">{tail.note}</Alert>}
      {list.error !== null && <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />}
      {isEmpty && <Empty isFiltered={isFiltered} onSent={onRefresh} />}
      {(rows.length > 0 || isLive || list.hasNextPage) && (
        <RequestTable
          rows={rows}
          visibility={visibility}
          onHover={setOver}
          onNearEnd={found.loadMore}
          footer={<Footer found={found} />}
        />
      )}
    </>
  )
}

function describeTail({ connection, waiting }: ReturnType<typeof useLiveTail>): string {
  if (connection === 'waiting') return 'Not connected. Reconnecting…'
  if (connection === 'connecting') return 'Connecting…'
  return waiting.length > 0 ? `Paused: ${waiting.length} waiting` : 'New requests appear on top'
}

function Footer({ found }: { found: ReturnType<typeof useRequests> }) {
  const { list, searchedTo, mustDecide, isFull } = found
  if (list.isFetchingNextPage) return <>Loading…</>
  if (isFull) return <>End of the list. To find older requests, use filters or a shorter period.</>
  if (!list.hasNextPage) return <>No further requests in this period.</>
  return (
    <Group gap="sm">
      <span>
        Searched back to <Time iso={searchedTo} />.
      </span>
      {mustDecide && (
        <Button size="compact-xs" variant="default" onClick={() => void list.fetchNextPage()}>
          Search further
        </Button>
      )}
    </Group>
  )
}

function Empty({ isFiltered, onSent }: { isFiltered: boolean; onSent: () => void }) {
  const session = useSession()
  const send = api.useMutation('post', '/chat/completions', { onSuccess: onSent })
  const body = {
    model: 'sandbox/echo',
    messages: [{ role: 'user' as const, content: 'Hello from the request log' }],
  }
  if (isFiltered) {
    return <EmptyState title="No request matches">Remove a filter, or choose a longer period.</EmptyState>
  }
  return (
    <EmptyState title="No requests in this period">
      <Stack align="center" gap="sm">
        <span>
          Each request with one of your keys appears here, with its route, its price and its errors.
        </span>
        {mayDo(session, 'inference:write') && (
          <Button size="xs" loading={send.isPending} onClick={() => send.mutate({ body })}>
            Send a sample request to sandbox/echo
          </Button>
        )}
        {send.error !== null && <ErrorNotice error={send.error} />}
      </Stack>
    </EmptyState>
  )
}

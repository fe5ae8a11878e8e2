import { Button, Group, Menu } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf, urlOf } from '../../api/call.ts'
import { api, client } from '../../api/client.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page } from '../../components/page.tsx'
import { EntryList } from './entry-list.tsx'
import { FilterBar } from './filter-bar.tsx'
import type { AuditFilters } from './filters.ts'

export const screen = createLazyRoute('/audit')({ component: AuditScreen })

const pageSize = 50

function AuditScreen() {
  const filters = screen.useSearch()
  const navigate = screen.useNavigate()
  const hasFilters = Object.keys(filters).length > 0
  const options = api.queryOptions('get', '/audit', { params: { query: { ...filters, limit: pageSize } } })
  const query = useInfiniteQuery({
    queryKey: [...options.queryKey, 'pages'],
    queryFn: ({ pageParam, signal }) => readPage(filters, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
  })
  const entries = query.data?.pages.flatMap(({ data }) => data) ?? []
  return (
    <Page
      title="Audit log"
      description="Who changed what, and what was refused. Entries cannot be changed: each contains a hash of the one before."
      calls={[callOf(options)]}
      actions={<ExportMenu filters={filters} />}
    >
      <FilterBar
        key={JSON.stringify(filters)}
        filters={filters}
        onChange={(search) => void navigate({ search })}
      />
      {query.error !== null && <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />}
      {query.isSuccess && entries.length === 0 ? (
        <EmptyState title={hasFilters ? 'Nothing matches these filters' : 'Nothing yet'}>
          {hasFilters
            ? 'Remove a filter, or choose a longer time.'
            : 'An entry appears here when somebody signs in, or changes a key, a member or a setting.'}
        </EmptyState>
      ) : (
        <EntryList
          entries={entries}
          isLoading={query.isPending}
          onFilter={(more) => void navigate({ search: { ...filters, ...more } })}
        />
      )}
      {query.hasNextPage && (
        <Group justify="center">
          <Button
            variant="default"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Show older entries
          </Button>
        </Group>
      )}
    </Page>
  )
}

async function readPage(filters: AuditFilters, cursor: string | null, signal: AbortSignal) {
  const query = { ...filters, limit: pageSize, ...(cursor !== null && { cursor }) }
  const { data } = await client.GET('/audit', { params: { query }, signal })
  return data ?? { data: [], cursor: null }
}

/** Downloads what the filters select, not only what is shown. */
function ExportMenu({ filters }: { filters: AuditFilters }) {
  const hrefOf = (format: 'csv' | 'jsonl') =>
    urlOf({ method: 'GET', path: '/audit/export', query: { ...filters, format } })
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button size="xs" variant="default">
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component="a" href={hrefOf('csv')} download="audit.csv">
          CSV
        </Menu.Item>
        <Menu.Item component="a" href={hrefOf('jsonl')} download="audit.jsonl">
          JSON lines
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

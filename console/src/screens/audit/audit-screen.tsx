import { Button, Menu } from '@mantine/core'
import { createLazyRoute, Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { callOf, urlOf } from '../../api/call.ts'
import { api, client } from '../../api/client.ts'
import { useCursorPages } from '../../api/use-cursor-pages.ts'
import { CursorList } from '../../components/cursor-list.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { EntryList } from './entry-list.tsx'
import { AuditFilterBar } from './filter-bar.tsx'
import { type AuditFilters, queryOf } from './filters.ts'

export const screen = createLazyRoute('/audit')({ component: AuditScreen })

const pageSize = 50

function AuditScreen() {
  const filters = screen.useSearch()
  const navigate = screen.useNavigate()
  const hasFilters = Object.keys(filters).length > 0
  // The time does not pass while somebody reads: pages are those of one list.
  const selected = useMemo(() => queryOf(filters, Date.now()), [filters])
  const options = api.queryOptions('get', '/audit', { params: { query: { ...selected, limit: pageSize } } })
  const query = useCursorPages(options, (position, signal) =>
    client.GET('/audit', { params: { query: { ...selected, limit: pageSize, ...position } }, signal }),
  )
  return (
    <Page
      title="Audit log"
      docs="audit"
      description="Who changed what, and what was rejected. Entries are tamper-evident: each contains the hash of the previous one."
      calls={[callOf(options)]}
      actions={
        <>
          <SavedViews screen="audit" />
          <Button component={Link} to="/audit/destinations" variant="default" size="xs">
            Destinations
          </Button>
          <ExportMenu filters={selected} />
        </>
      }
    >
      <AuditFilterBar filters={filters} onChange={(search) => void navigate({ search })} />
      <CursorList
        query={query}
        more="Show older entries"
        empty={
          <EmptyState title={hasFilters ? 'Nothing matches these filters' : 'Nothing yet'}>
            {hasFilters
              ? 'Remove a filter, or choose a longer time.'
              : 'An entry appears here when somebody signs in, or changes a key, a member or a setting.'}
          </EmptyState>
        }
      >
        {(entries) => (
          <EntryList
            entries={entries}
            onFilter={(more) => void navigate({ search: { ...filters, ...more } })}
          />
        )}
      </CursorList>
    </Page>
  )
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

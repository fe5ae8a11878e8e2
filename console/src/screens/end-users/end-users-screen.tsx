import { Badge } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { writeOffset, writeText } from '../../app/search-params.ts'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { NothingFound, SearchField } from '../../components/search-field.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatCompact, formatCount } from '../../format/number.ts'

export const screen = createLazyRoute('/end-users')({ component: EndUsersScreen })

const pageSize = 50

function EndUsersScreen() {
  const { offset = 0, q = '' } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/end-users', {
    params: { query: { offset, limit: pageSize, ...writeText(q) } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="End users"
      docs="end-users"
      description="The people and accounts that your applications serve, by spending in the last 30 days."
      calls={[callOf(options)]}
    >
      <SearchField
        label="Search end users"
        value={q}
        onChange={(text) => void navigate({ search: writeText(text) })}
      />
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) => void navigate({ search: { ...writeText(q), ...writeOffset(next) } })}
        empty={
          q === '' ? (
            <EmptyState title={offset > 0 ? 'No further end users' : 'No end users yet'}>
              End users appear here once requests name them in the field “user” or the header x-headgate-user.
            </EmptyState>
          ) : (
            <NothingFound text={q} />
          )
        }
      >
        {(endUsers) => <EndUserTable endUsers={endUsers} />}
      </PagedList>
    </Page>
  )
}

function EndUserTable({ endUsers }: { endUsers: Schemas['EndUser'][] }) {
  return (
    <DataTable
      rows={endUsers}
      keyOf={({ id }) => id}
      minWidth={340}
      columns={[
        {
          header: 'End user',
          breaksWords: true,
          render: ({ id, blocked }) => (
            <>
              <TextLink to="/end-users/$id" params={{ id }}>
                {id}
              </TextLink>{' '}
              {blocked && (
                <Badge color="red" variant="light" tt="none">
                  Blocked
                </Badge>
              )}
            </>
          ),
        },
        { header: 'Spend', isNumber: true, render: ({ usage }) => <Money value={usage} /> },
        { header: 'Requests', isNumber: true, render: ({ requests }) => formatCount(requests) },
        {
          header: 'Tokens',
          isNumber: true,
          visibleFrom: 'xs',
          render: ({ tokens }) => formatCompact(tokens),
        },
        {
          header: 'Last seen',
          visibleFrom: 'sm',
          render: ({ last_seen }) => last_seen?.slice(0, 10) ?? '–',
        },
      ]}
    />
  )
}

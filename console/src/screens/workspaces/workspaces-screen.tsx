import { Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { writeOffset, writeText } from '../../app/search-params.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { NothingFound, SearchField } from '../../components/search-field.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { useSpend } from '../../components/use-spend.ts'
import { formatCount } from '../../format/number.ts'
import { CreateWorkspace } from './create-workspace.tsx'

export const screen = createLazyRoute('/workspaces')({ component: WorkspacesScreen })

const pageSize = 50

function WorkspacesScreen() {
  const session = useSession()
  const { offset = 0, q = '' } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/workspaces', {
    params: { query: { offset, limit: pageSize, include_counts: true, ...writeText(q) } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Workspaces"
      docs="console#workspaces-members-and-roles"
      description="Separate keys, members, budgets and rules, for example for each team or product."
      calls={[callOf(options)]}
      actions={
        mayDoEverywhere(session, 'workspaces:write') && (
          <DialogButton label="Create a workspace" action="create">
            {(close) => <CreateWorkspace onClose={close} />}
          </DialogButton>
        )
      }
    >
      <SearchField
        label="Search names"
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
            <EmptyState title="No workspaces here">
              You see only your own workspaces. Ask an admin to add you to one.
            </EmptyState>
          ) : (
            <NothingFound text={q} />
          )
        }
      >
        {(rows) => <WorkspaceTable workspaces={rows} />}
      </PagedList>
    </Page>
  )
}

function WorkspaceTable({ workspaces }: { workspaces: Schemas['ListedWorkspace'][] }) {
  const spendOf = useSpend({ dimension: 'workspace', ids: workspaces.map(({ id }) => id) })
  return (
    <DataTable
      rows={workspaces}
      keyOf={({ id }) => id}
      minWidth={340}
      columns={[
        {
          header: 'Name',
          breaksWords: true,
          render: ({ id, name, description }) => (
            <>
              <TextLink to="/workspaces/$id" params={{ id }}>
                {name}
              </TextLink>
              <Text size="xs" c="dimmed">
                {description}
              </Text>
            </>
          ),
        },
        { header: 'Short name', breaksWords: true, visibleFrom: 'md', render: ({ slug }) => slug },
        { header: 'Spend, 30 days', isNumber: true, render: ({ id }) => <Money value={spendOf(id)} /> },
        { header: 'Keys', isNumber: true, render: ({ key_count }) => formatCapped(key_count) },
        { header: 'Members', isNumber: true, render: ({ member_count }) => formatCapped(member_count) },
        {
          header: 'Created',
          visibleFrom: 'sm',
          render: ({ created_at }) => <Time iso={created_at} style="age" />,
        },
      ]}
    />
  )
}

/** The server counts so far. */
const maxCounted = 1000

function formatCapped(count: number | undefined): string {
  if (count === undefined) return '–'
  return count < maxCounted ? formatCount(count) : `${formatCount(maxCounted)}+`
}

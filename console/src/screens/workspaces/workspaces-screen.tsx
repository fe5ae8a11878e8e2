import { Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { writeOffset, writeText } from '../../app/search-params.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { NothingFound, SearchField } from '../../components/search-field.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { CreateWorkspace } from './create-workspace.tsx'

export const screen = createLazyRoute('/workspaces')({ component: WorkspacesScreen })

const pageSize = 50

function WorkspacesScreen() {
  const session = useSession()
  const { offset = 0, q = '' } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/workspaces', {
    params: { query: { offset, limit: pageSize, ...writeText(q) } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Workspaces"
      docs="console#workspaces-members-and-roles"
      description="A workspace has keys, members, budgets and rules of its own, such as those of a team or a product."
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
              You see the workspaces that you are a member of. Ask an admin to add you to one.
            </EmptyState>
          ) : (
            <NothingFound text={q} />
          )
        }
      >
        {(rows) => <DataTable columns={columns} rows={rows} keyOf={({ id }) => id} minWidth={680} />}
      </PagedList>
    </Page>
  )
}

const columns: Column<Schemas['Workspace']>[] = [
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
  { header: 'Short name', render: ({ slug }) => slug },
  { header: 'Created', render: ({ created_at }) => <Time iso={created_at} style="age" /> },
  { header: 'Id', render: ({ id }) => <Id value={id} /> },
]

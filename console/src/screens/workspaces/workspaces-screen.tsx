import { Button, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { CreateWorkspace } from './create-workspace.tsx'

export const screen = createLazyRoute('/workspaces')({ component: WorkspacesScreen })

const pageSize = 50

function WorkspacesScreen() {
  const session = useSession()
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const [isCreating, setCreating] = useState(false)
  const options = api.queryOptions('get', '/workspaces', { params: { query: { offset, limit: pageSize } } })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Workspaces"
      description="A workspace has keys, members, budgets and rules of its own, such as those of a team or a product."
      calls={[callOf(options)]}
      actions={
        mayDoEverywhere(session, 'workspaces:write') && (
          <Button size="xs" onClick={() => setCreating(true)}>
            Create a workspace
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data, total_count }) => (
          <>
            {data.length === 0 ? (
              <EmptyState title="No workspaces here">
                You see the workspaces that you are a member of. Ask an admin to add you to one.
              </EmptyState>
            ) : (
              <WorkspaceTable workspaces={data} />
            )}
            <Pager
              offset={offset}
              size={pageSize}
              total={total_count}
              onChange={(next) => void navigate({ search: next > 0 ? { offset: next } : {} })}
            />
          </>
        )}
      </QueryView>
      {isCreating && <CreateWorkspace onClose={() => setCreating(false)} />}
    </Page>
  )
}

function WorkspaceTable({ workspaces }: { workspaces: Schemas['Workspace'][] }) {
  return (
    <Table.ScrollContainer minWidth={680}>
      <Table highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Short name</Table.Th>
            <Table.Th>Created</Table.Th>
            <Table.Th>Id</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {workspaces.map(({ id, name, slug, description, created_at }) => (
            <Table.Tr key={id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <TextLink to="/workspaces/$id" params={{ id }}>
                  {name}
                </TextLink>
                <Text size="xs" c="dimmed">
                  {description}
                </Text>
              </Table.Td>
              <Table.Td>{slug}</Table.Td>
              <Table.Td>
                <Time iso={created_at} style="age" />
              </Table.Td>
              <Table.Td>
                <Id value={id} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

import { Button } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, client, type Schemas } from '../../api/client.ts'
import { mayDo, mayDoEverywhere, mayDoIn, type Permission, useSession } from '../../app/session.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Budgets, budgetsOptions } from './budgets.tsx'
import { Settings } from './settings.tsx'
import { membersOptions, WorkspaceMembers } from './workspace-members.tsx'

export const screen = createLazyRoute('/workspaces/$id')({ component: WorkspaceScreen })

function WorkspaceScreen() {
  const session = useSession()
  const { id } = screen.useParams()
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/workspaces/{id}', { params: { path: { id } } })
  const query = useQuery(options)
  const may = (permission: Permission) => mayDoIn(session, query.data?.data.id ?? id, permission)
  const seesMembers = mayDo(session, 'members:read')
  const seesBudgets = mayDo(session, 'budgets:read')
  const calls = [
    callOf(options),
    ...(seesBudgets ? [callOf(budgetsOptions(id))] : []),
    ...(seesMembers ? [callOf(membersOptions(id, offset))] : []),
  ]
  return (
    <Page
      title={query.data?.data.name ?? 'Workspace'}
      description={<TextLink to="/workspaces">All workspaces</TextLink>}
      calls={calls}
    >
      <QueryView query={query}>
        {({ data }) => (
          <>
            <Settings workspace={data} mayChange={may('workspaces:write')} />
            {seesBudgets && <Budgets workspace={data} mayChange={may('budgets:write')} />}
            {seesMembers && (
              <WorkspaceMembers
                workspaceId={id}
                offset={offset}
                onPage={(next) => void navigate({ search: next > 0 ? { offset: next } : {} })}
                mayChange={may('members:write')}
              />
            )}
            {mayDoEverywhere(session, 'workspaces:write') && <Deletion workspace={data} />}
          </>
        )}
      </QueryView>
    </Page>
  )
}

function Deletion({ workspace }: { workspace: Schemas['Workspace'] }) {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const [isAsking, setAsking] = useState(false)
  const { id, name, slug } = workspace
  const remove = async () => {
    await client.DELETE('/workspaces/{id}', { params: { path: { id } } })
    await navigate({ to: '/workspaces' })
    await Promise.all(
      ['/workspaces', '/session'].map((path) => queryClient.invalidateQueries({ queryKey: ['get', path] })),
    )
  }
  return (
    <Panel
      title="Delete the workspace"
      description="Its memberships and budgets are deleted too. A workspace with active keys cannot be deleted, nor can the default one from here."
      actions={
        <Button size="xs" color="red" variant="outline" onClick={() => setAsking(true)}>
          Delete
        </Button>
      }
    >
      {isAsking && (
        <ConfirmByName
          title={`Delete ${name}`}
          name={slug}
          action="Delete"
          onConfirm={remove}
          onClose={() => setAsking(false)}
        >
          This cannot be undone. Members lose what the workspace allowed them.
        </ConfirmByName>
      )}
    </Panel>
  )
}

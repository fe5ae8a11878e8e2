import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { writeOffset } from '../../app/search-params.ts'
import { mayDo, mayDoEverywhere, mayDoIn, type Permission, useSession } from '../../app/session.tsx'
import { DangerPanel } from '../../components/danger-panel.tsx'
import { spendingOptions } from '../../components/node-spending.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Budgets } from './budgets.tsx'
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
    ...(seesBudgets ? [callOf(spendingOptions(`workspace:${id}`))] : []),
    ...(seesMembers ? [callOf(membersOptions(id, offset))] : []),
  ]
  return (
    <Page
      title={query.data?.data.name ?? 'Workspace'}
      docs="console#workspaces-members-and-roles"
      description={<TextLink to="/workspaces">All workspaces</TextLink>}
      calls={calls}
    >
      <QueryView query={query}>
        {({ data }) => (
          <>
            <Settings workspace={data} mayChange={may('workspaces:write')} />
            {seesBudgets && <Budgets workspaceId={data.id} mayChange={may('budgets:write')} />}
            {seesMembers && (
              <WorkspaceMembers
                workspaceId={id}
                offset={offset}
                onPage={(next) => void navigate({ search: writeOffset(next) })}
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

function Deletion({ workspace: { id, slug } }: { workspace: Schemas['Workspace'] }) {
  const refresh = useRefresh()
  const navigate = useNavigate()
  const remove = async () => {
    await client.DELETE('/workspaces/{id}', { params: { path: { id } } })
    await navigate({ to: '/workspaces' })
    await refresh('/workspaces', '/session')
  }
  return (
    <DangerPanel
      title="Delete the workspace"
      description="Also deletes its memberships and budgets. Workspaces with active keys and the default workspace cannot be deleted."
      action="Delete"
      name={slug}
      onConfirm={remove}
    >
      This cannot be undone. Members lose access to the workspace.
    </DangerPanel>
  )
}

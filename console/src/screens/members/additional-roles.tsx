import { Anchor, Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { allPages } from '../../api/all-pages.ts'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import { WorkspaceSelect } from '../../components/workspace-select.tsx'

type Assignment = Schemas['RoleAssignment']

const rolesOptions = allPages(api.queryOptions('get', '/roles'))

export function assignmentsOptions(id: string) {
  return allPages(api.queryOptions('get', '/organization/members/{id}/roles', { params: { path: { id } } }))
}

/** Lists the roles of a member besides those in the organization and its workspaces. */
export function AdditionalRoles({ memberId }: { memberId: string }) {
  const session = useSession()
  const query = useQuery(assignmentsOptions(memberId))
  return (
    <Panel
      title="Additional roles"
      description={
        <>
          For the whole organization or one workspace.{' '}
          <Anchor component={Link} to="/roles" underline="always">
            See what each role allows
          </Anchor>
        </>
      }
      actions={
        mayDo(session, 'roles:write') && (
          <DialogButton label="Add a role" variant="default">
            {(close) => <AddRole memberId={memberId} onClose={close} />}
          </DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? <Text size="sm">None.</Text> : <AssignmentTable assignments={data} />
        }
      </QueryView>
    </Panel>
  )
}

function AssignmentTable({ assignments }: { assignments: Assignment[] }) {
  const refresh = useRefresh()
  const mayRemove = mayDo(useSession(), 'roles:write')
  const roles = useQuery(rolesOptions).data?.data ?? []
  const workspaceOf = useWorkspaceNames(assignments.map(({ workspace_id }) => workspace_id))
  const remove = async ({ id: assignment_id, user_id: id }: Assignment) => {
    await client.DELETE('/organization/members/{id}/roles/{assignment_id}', {
      params: { path: { id, assignment_id } },
    })
    await refresh('/organization/members/{id}/roles')
  }
  const roleOf = (id: string) => roles.find((role) => role.id === id)?.name ?? id
  const placeOf = (id: string | null) => (id === null ? 'The whole organization' : workspaceOf(id))
  return (
    <DataTable
      rows={assignments}
      keyOf={({ id }) => id}
      minWidth={460}
      columns={[
        { header: 'Role', breaksWords: true, render: ({ role_id }) => roleOf(role_id) },
        { header: 'Where', breaksWords: true, render: ({ workspace_id }) => placeOf(workspace_id) },
        { header: 'Given by', render: ({ source }) => (source === 'oidc' ? 'Single sign-on' : 'A person') },
        mayRemove && {
          header: 'Action',
          isHeaderHidden: true,
          render: (assignment) => (
            <ActionButton
              label={`Remove the role ${roleOf(assignment.role_id)}`}
              onAction={() => remove(assignment)}
            >
              Remove
            </ActionButton>
          ),
        },
      ]}
    />
  )
}

function AddRole({ memberId, onClose }: { memberId: string; onClose: () => void }) {
  const refresh = useRefresh()
  const isEverywhere = mayDoEverywhere(useSession(), 'roles:write')
  const roles = (useQuery(rolesOptions).data?.data ?? []).filter(({ is_assignable }) => is_assignable)
  const [roleId, setRoleId] = useState<string | null>(null)
  const [workspaceId, setWorkspaceId] = useState<string | null>(null)
  const add = async () => {
    if (!roleId) return
    await client.POST('/organization/members/{id}/roles', {
      params: { path: { id: memberId } },
      body: { role_id: roleId, workspace_id: workspaceId },
    })
    await refresh('/organization/members/{id}/roles')
  }
  return (
    <FormDialog
      title="Add a role"
      action="Add"
      isReady={roleId !== null && (isEverywhere || workspaceId !== null)}
      onSubmit={add}
      onClose={onClose}
    >
      <Select
        label="Role"
        required
        searchable
        data={roles.map(({ id, name }) => ({ value: id, label: name }))}
        value={roleId}
        onChange={setRoleId}
        description={roles.find(({ id }) => id === roleId)?.description}
      />
      <WorkspaceSelect
        label="Where"
        placeholder={isEverywhere ? 'In the whole organization' : 'Choose a workspace'}
        value={workspaceId}
        onChange={setWorkspaceId}
      />
    </FormDialog>
  )
}

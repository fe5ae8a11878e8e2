import { Button, Select, Table, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { WorkspaceSelect } from '../../components/workspace-select.tsx'

type Assignment = Schemas['RoleAssignment']

const rolesOptions = api.queryOptions('get', '/roles', { params: { query: { limit: 100 } } })
const workspacesOptions = api.queryOptions('get', '/workspaces', { params: { query: { limit: 100 } } })

export function assignmentsOptions(id: string) {
  return api.queryOptions('get', '/organization/members/{id}/roles', {
    params: { path: { id }, query: { limit: 100 } },
  })
}

/** What somebody may do besides what the organization and its workspaces give them. */
export function AdditionalRoles({ memberId }: { memberId: string }) {
  const session = useSession()
  const query = useQuery(assignmentsOptions(memberId))
  const [isAdding, setAdding] = useState(false)
  return (
    <Panel
      title="Additional roles"
      description={
        <>
          For the whole organization or one workspace.{' '}
          <TextLink to="/roles">See what each role allows</TextLink>
        </>
      }
      actions={
        mayDo(session, 'roles:write') && (
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            Add a role
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? <Text size="sm">None.</Text> : <AssignmentTable assignments={data} />
        }
      </QueryView>
      {isAdding && <AddRole memberId={memberId} onClose={() => setAdding(false)} />}
    </Panel>
  )
}

function AssignmentTable({ assignments }: { assignments: Assignment[] }) {
  const queryClient = useQueryClient()
  const mayRemove = mayDo(useSession(), 'roles:write')
  const roles = useQuery(rolesOptions).data?.data ?? []
  const workspaces = useQuery(workspacesOptions).data?.data ?? []
  const remove = async ({ id: assignment_id, user_id: id }: Assignment) => {
    await client.DELETE('/organization/members/{id}/roles/{assignment_id}', {
      params: { path: { id, assignment_id } },
    })
    await queryClient.invalidateQueries({ queryKey: assignmentsOptions(id).queryKey })
  }
  const placeOf = (id: string | null) =>
    id === null ? 'The whole organization' : (workspaces.find((workspace) => workspace.id === id)?.name ?? id)
  return (
    <Table.ScrollContainer minWidth={460}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Role</Table.Th>
            <Table.Th>Where</Table.Th>
            <Table.Th>Given by</Table.Th>
            <Table.Th>Action</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {assignments.map((assignment) => {
            const role = roles.find(({ id }) => id === assignment.role_id)?.name ?? assignment.role_id
            return (
              <Table.Tr key={assignment.id}>
                <Table.Td>{role}</Table.Td>
                <Table.Td>{placeOf(assignment.workspace_id)}</Table.Td>
                <Table.Td>{assignment.source === 'oidc' ? 'Single sign-on' : 'A person'}</Table.Td>
                <Table.Td>
                  {mayRemove && (
                    <ActionButton label={`Remove the role ${role}`} onAction={() => remove(assignment)}>
                      Remove
                    </ActionButton>
                  )}
                </Table.Td>
              </Table.Tr>
            )
          })}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function AddRole({ memberId, onClose }: { memberId: string; onClose: () => void }) {
  const queryClient = useQueryClient()
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
    await queryClient.invalidateQueries({ queryKey: assignmentsOptions(memberId).queryKey })
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

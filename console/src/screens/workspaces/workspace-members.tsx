import { Badge, Button, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { MemberSelect } from '../../components/member-select.tsx'
import { Pager } from '../../components/pager.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { useMemberNames } from '../../components/use-member-names.ts'

const pageSize = 50

export function membersOptions(id: string, offset: number) {
  return api.queryOptions('get', '/workspaces/{id}/members', {
    params: { path: { id }, query: { offset, limit: pageSize } },
  })
}

interface WorkspaceMembersProps {
  workspaceId: string
  offset: number
  onPage: (offset: number) => void
  mayChange: boolean
}

export function WorkspaceMembers({ workspaceId, offset, onPage, mayChange }: WorkspaceMembersProps) {
  const queryClient = useQueryClient()
  const query = useQuery({ ...membersOptions(workspaceId, offset), placeholderData: keepPreviousData })
  const [isAdding, setAdding] = useState(false)
  const path = { id: workspaceId }
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['get', '/workspaces/{id}/members'] })
  const remove = async (userId: string) => {
    const body = { user_ids: [userId] }
    await client.POST('/workspaces/{id}/members/remove', { params: { path }, body })
    await refresh()
  }
  const add = async (user_ids: string[]) => {
    await client.POST('/workspaces/{id}/members/add', { params: { path }, body: { user_ids } })
    await refresh()
  }
  return (
    <Panel
      title="Members"
      description="They use the models and rules of this workspace. The default workspace has everybody."
      actions={
        mayChange && (
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            Add members
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data, total_count }) => (
          <>
            {data.length === 0 ? (
              <Text size="sm">No members yet.</Text>
            ) : (
              <MemberTable members={data} {...(mayChange && { onRemove: remove })} />
            )}
            <Pager offset={offset} size={pageSize} total={total_count} onChange={onPage} />
          </>
        )}
      </QueryView>
      {isAdding && (
        <AddMembers
          present={query.data?.data.map(({ user_id }) => user_id) ?? []}
          onAdd={add}
          onClose={() => setAdding(false)}
        />
      )}
    </Panel>
  )
}

interface MemberTableProps {
  members: Schemas['WorkspaceMember'][]
  onRemove?: (userId: string) => Promise<void>
}

function MemberTable({ members, onRemove }: MemberTableProps) {
  const nameOf = useMemberNames()
  return (
    <Table.ScrollContainer minWidth={480}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Role</Table.Th>
            <Table.Th>Since</Table.Th>
            {onRemove && <Table.Th>Action</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {members.map(({ user_id, role, created_at }) => (
            <Table.Tr key={user_id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <TextLink to="/members/$id" params={{ id: user_id }}>
                  {nameOf(user_id)}
                </TextLink>
              </Table.Td>
              <Table.Td>
                <Badge variant="light" color={role === 'admin' ? 'indigo' : 'gray'} tt="none">
                  {role}
                </Badge>
              </Table.Td>
              <Table.Td>
                <Time iso={created_at} style="age" />
              </Table.Td>
              {onRemove && (
                <Table.Td>
                  <ActionButton label={`Remove ${nameOf(user_id)}`} onAction={() => onRemove(user_id)}>
                    Remove
                  </ActionButton>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

interface AddMembersProps {
  present: string[]
  onAdd: (ids: string[]) => Promise<void>
  onClose: () => void
}

function AddMembers({ present, onAdd, onClose }: AddMembersProps) {
  const [ids, setIds] = useState<string[]>([])
  return (
    <FormDialog
      title="Add members"
      action="Add"
      isReady={ids.length > 0}
      onSubmit={() => onAdd(ids)}
      onClose={onClose}
    >
      <MemberSelect
        label="Members"
        description="They get the role that they have in the organization."
        value={ids}
        onChange={setIds}
        except={present}
      />
    </FormDialog>
  )
}

import { Badge, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { MemberSelect } from '../../components/member-select.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { Panel } from '../../components/panel.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { useMemberNames } from '../../components/use-members.ts'

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
  const refresh = useRefresh()
  const query = useQuery({ ...membersOptions(workspaceId, offset), placeholderData: keepPreviousData })
  const path = { id: workspaceId }
  const remove = async (userId: string) => {
    const body = { user_ids: [userId] }
    await client.POST('/workspaces/{id}/members/remove', { params: { path }, body })
    await refresh('/workspaces/{id}/members')
  }
  const add = async (user_ids: string[]) => {
    await client.POST('/workspaces/{id}/members/add', { params: { path }, body: { user_ids } })
    await refresh('/workspaces/{id}/members')
  }
  return (
    <Panel
      title="Members"
      description="Members can use this workspace. Everyone is in the default workspace."
      actions={
        mayChange && (
          <DialogButton label="Add members" variant="default">
            {(close) => (
              <AddMembers
                present={query.data?.data.map(({ user_id }) => user_id) ?? []}
                onAdd={add}
                onClose={close}
              />
            )}
          </DialogButton>
        )
      }
    >
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={onPage}
        empty={<Text size="sm">No members yet.</Text>}
      >
        {(rows) => <MemberTable members={rows} {...(mayChange && { onRemove: remove })} />}
      </PagedList>
    </Panel>
  )
}

interface MemberTableProps {
  members: Schemas['WorkspaceMember'][]
  onRemove?: (userId: string) => Promise<void>
}

function MemberTable({ members, onRemove }: MemberTableProps) {
  const nameOf = useMemberNames(members.map(({ user_id }) => user_id))
  return (
    <DataTable
      rows={members}
      keyOf={({ user_id }) => user_id}
      minWidth={480}
      columns={[
        {
          header: 'Name',
          breaksWords: true,
          render: ({ user_id: id }) => (
            <TextLink to="/members/$id" params={{ id }}>
              {nameOf(id)}
            </TextLink>
          ),
        },
        {
          header: 'Role',
          render: ({ role }) => (
            <Badge variant="light" color={role === 'admin' ? 'indigo' : 'gray'} tt="none">
              {role}
            </Badge>
          ),
        },
        { header: 'Since', render: ({ created_at }) => <Time iso={created_at} style="age" /> },
        onRemove !== undefined && {
          header: 'Action',
          isHeaderHidden: true,
          render: ({ user_id: id }) => (
            <ActionButton label={`Remove ${nameOf(id)}`} onAction={() => onRemove(id)}>
              Remove
            </ActionButton>
          ),
        },
      ]}
    />
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
        description="They keep their role in the organization."
        value={ids}
        onChange={setIds}
        except={present}
      />
    </FormDialog>
  )
}

import { Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { WorkspaceSelect } from '../../../components/workspace-select.tsx'
import { allGroupsOptions, type ScimMapping, useScimRefresh } from './queries.ts'

export function AddMapping({ onClose }: { onClose: () => void }) {
  const refresh = useScimRefresh()
  const groups = useQuery(allGroupsOptions)
  const [groupId, setGroupId] = useState<string | null>(null)
  const [workspaceId, setWorkspaceId] = useState<string | null>(null)
  const [role, setRole] = useState<ScimMapping['role']>('member')
  const add = async () => {
    if (groupId === null || workspaceId === null) return
    const body = { scim_group_id: groupId, workspace_id: workspaceId, role }
    await client.POST('/scim/group-mappings', { body })
    await refresh()
  }
  const listed = groups.data?.data ?? []
  return (
    <FormDialog
      title="Map a group to a workspace"
      action="Map"
      isReady={groupId !== null && workspaceId !== null}
      onSubmit={add}
      onClose={onClose}
    >
      {groups.isSuccess && listed.length === 0 ? (
        <Text size="sm">Your identity provider has pushed no groups yet.</Text>
      ) : (
        <Select
          label="Group"
          required
          searchable
          limit={100}
          data={listed.map(({ id, display_name }) => ({ value: id, label: display_name }))}
          value={groupId}
          onChange={setGroupId}
        />
      )}
      <WorkspaceSelect
        label="Workspace"
        placeholder="Choose a workspace"
        value={workspaceId}
        onChange={setWorkspaceId}
      />
      <Select
        label="Role"
        allowDeselect={false}
        data={['member', 'admin']}
        value={role}
        onChange={(value) => value && setRole(value as ScimMapping['role'])}
      />
    </FormDialog>
  )
}

import { Group, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { ActionButton } from '../../../components/action-button.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { PagedList } from '../../../components/paged-list.tsx'
import { Panel } from '../../../components/panel.tsx'
import { useWorkspaceNames } from '../../../components/use-workspaces.ts'
import { AddMapping } from './add-mapping.tsx'
import { DeleteMapping } from './delete-mapping.tsx'
import { allGroupsOptions, mappingsOptions, pageSize, type ScimMapping, useScimRefresh } from './queries.ts'
import { SyncButton } from './sync-button.tsx'

/** Lists the mappings of groups to workspaces. */
export function Mappings() {
  const mayChange = mayDoEverywhere(useSession(), 'scim:write')
  const [offset, setOffset] = useState(0)
  const query = useQuery({ ...mappingsOptions(offset), placeholderData: keepPreviousData })
  return (
    <Panel
      title="Groups and workspaces"
      description="Members of a group become members of a workspace, and are removed with the group. Their API keys remain."
      actions={
        mayChange && (
          <>
            <SyncButton />
            <DialogButton label="Map a group" variant="default">
              {(close) => <AddMapping onClose={close} />}
            </DialogButton>
          </>
        )
      }
    >
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={setOffset}
        empty={<Text size="sm">No mappings. Groups that your provider pushes can be mapped.</Text>}
      >
        {(rows) => <MappingTable mappings={rows} mayChange={mayChange} />}
      </PagedList>
    </Panel>
  )
}

function MappingTable({ mappings, mayChange }: { mappings: ScimMapping[]; mayChange: boolean }) {
  const nameOf = useWorkspaceNames(mappings.map(({ workspace_id }) => workspace_id))
  const groups = useQuery(allGroupsOptions).data?.data ?? []
  const groupOf = ({ scim_group_id: id }: ScimMapping) =>
    groups.find((group) => group.id === id)?.display_name ?? id
  const workspaceOf = ({ workspace_id: id }: ScimMapping) => nameOf(id)
  return (
    <DataTable
      rows={mappings}
      keyOf={({ id }) => id}
      minWidth={500}
      columns={[
        { header: 'Group', breaksWords: true, render: groupOf },
        { header: 'Workspace', breaksWords: true, render: workspaceOf },
        { header: 'Role', render: ({ role }) => role },
        mayChange && {
          header: 'Actions',
          isHeaderHidden: true,
          render: (mapping) => (
            <MappingActions mapping={mapping} group={groupOf(mapping)} workspace={workspaceOf(mapping)} />
          ),
        },
      ]}
    />
  )
}

interface MappingActionsProps {
  mapping: ScimMapping
  group: string
  workspace: string
}

function MappingActions({ mapping: { id, role }, group, workspace }: MappingActionsProps) {
  const refresh = useScimRefresh()
  const otherRole = role === 'admin' ? 'member' : 'admin'
  const changeRole = async () => {
    await client.PATCH('/scim/group-mappings/{id}', { params: { path: { id } }, body: { role: otherRole } })
    await refresh()
  }
  return (
    <Group gap="xs">
      <ActionButton label={`Make ${otherRole}: ${group} in ${workspace}`} onAction={changeRole}>
        Make {otherRole}
      </ActionButton>
      <DialogButton
        label="Delete"
        description={`Delete the mapping of ${group} to ${workspace}`}
        color="red"
        variant="outline"
      >
        {(close) => <DeleteMapping id={id} group={group} workspace={workspace} onClose={close} />}
      </DialogButton>
    </Group>
  )
}

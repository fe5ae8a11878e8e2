import { Button, Group, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { useWorkspace } from '../../../app/workspace.tsx'
import { ActionButton } from '../../../components/action-button.tsx'
import { Pager } from '../../../components/pager.tsx'
import { Panel } from '../../../components/panel.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { AddMapping } from './add-mapping.tsx'
import { DeleteMapping } from './delete-mapping.tsx'
import { allGroupsOptions, mappingsOptions, pageSize, type ScimMapping, useRefresh } from './queries.ts'
import { SyncButton } from './sync-button.tsx'

/** Which groups are in which workspaces. */
export function Mappings() {
  const mayChange = mayDoEverywhere(useSession(), 'scim:write')
  const [offset, setOffset] = useState(0)
  const [isAdding, setAdding] = useState(false)
  const query = useQuery({ ...mappingsOptions(offset), placeholderData: keepPreviousData })
  return (
    <Panel
      title="Groups and workspaces"
      description="The people of a group become members of a workspace, and leave it with the group. API keys that they created there stay."
      actions={
        mayChange && (
          <>
            <SyncButton />
            <Button size="xs" variant="default" onClick={() => setAdding(true)}>
              Map a group
            </Button>
          </>
        )
      }
    >
      <QueryView query={query}>
        {({ data, total_count }) =>
          total_count === 0 ? (
            <Text size="sm">No group is mapped. Groups that your provider has pushed can be chosen.</Text>
          ) : (
            <>
              <MappingTable mappings={data} mayChange={mayChange} />
              <Pager offset={offset} size={pageSize} total={total_count} onChange={setOffset} />
            </>
          )
        }
      </QueryView>
      {isAdding && <AddMapping onClose={() => setAdding(false)} />}
    </Panel>
  )
}

function MappingTable({ mappings, mayChange }: { mappings: ScimMapping[]; mayChange: boolean }) {
  return (
    <Table.ScrollContainer minWidth={500}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Group</Table.Th>
            <Table.Th>Workspace</Table.Th>
            <Table.Th>Role</Table.Th>
            {mayChange && <Table.Th>Actions</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {mappings.map((mapping) => (
            <MappingRow key={mapping.id} mapping={mapping} mayChange={mayChange} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function MappingRow({ mapping, mayChange }: { mapping: ScimMapping; mayChange: boolean }) {
  const { workspaces } = useWorkspace()
  const refresh = useRefresh()
  const [isDeleting, setDeleting] = useState(false)
  const groups = useQuery(allGroupsOptions).data?.data ?? []
  const { id, scim_group_id, workspace_id, role } = mapping
  const group = groups.find((known) => known.id === scim_group_id)?.display_name ?? scim_group_id
  const workspace = workspaces.find((known) => known.id === workspace_id)?.name ?? workspace_id
  const otherRole = role === 'admin' ? 'member' : 'admin'
  const changeRole = async () => {
    await client.PATCH('/scim/group-mappings/{id}', { params: { path: { id } }, body: { role: otherRole } })
    await refresh()
  }
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{group}</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{workspace}</Table.Td>
      <Table.Td>{role}</Table.Td>
      {mayChange && (
        <Table.Td>
          <Group gap="xs">
            <ActionButton label={`Make ${group} ${otherRole} of ${workspace}`} onAction={changeRole}>
              Make {otherRole}
            </ActionButton>
            <Button
              size="xs"
              variant="outline"
              color="red"
              aria-label={`Delete the mapping of ${group} to ${workspace}`}
              onClick={() => setDeleting(true)}
            >
              Delete
            </Button>
          </Group>
          {isDeleting && (
            <DeleteMapping id={id} group={group} workspace={workspace} onClose={() => setDeleting(false)} />
          )}
        </Table.Td>
      )}
    </Table.Tr>
  )
}

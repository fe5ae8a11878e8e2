import { Button, Group, Stack } from '@mantine/core'
import { mayDo, useSession } from '../../app/session.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { BulkBar, ColumnMenu, exportRows, useHiddenColumns } from '../../components/table-tools.tsx'
import { useMemberNames } from '../../components/use-members.ts'
import { useSelection } from '../../components/use-selection.ts'
import { useWorkspaceColumn } from '../../components/workspace-column.tsx'
import { BulkActions } from './bulk-actions.tsx'
import { KeyActions } from './key-actions.tsx'
import { KeyStateBadge, listKeyColumns } from './key-columns.tsx'
import { type ApiKey, stateOf } from './key-fields.ts'

export function KeyTable({ keys }: { keys: ApiKey[] }) {
  const canWrite = mayDo(useSession(), 'keys:write')
  const nameOf = useMemberNames(keys.map(({ creator_user_id }) => creator_user_id))
  const workspaceColumn = useWorkspaceColumn<ApiKey>(keys.map(({ workspace_id }) => workspace_id))
  const { hidden, setHidden } = useHiddenColumns('keys')
  const selection = useSelection(keys.map(({ hash }) => hash))
  const chosen = keys.filter(({ hash }) => selection.selected.has(hash))
  const all = [
    ...listKeyColumns(nameOf),
    ...workspaceColumn,
    {
      header: 'State',
      csv: (key: ApiKey) => stateOf(key),
      render: (key: ApiKey) => <KeyStateBadge apiKey={key} />,
    },
  ]
  const shown = all.filter(({ header }) => !hidden.includes(header))
  return (
    <Stack gap="xs">
      <Group gap="xs" justify="space-between" mih={30}>
        <BulkBar selection={selection}>
          {canWrite && <BulkActions keys={chosen} />}
          <Button size="xs" variant="default" onClick={() => exportRows('keys.csv', shown, chosen)}>
            Export selected
          </Button>
        </BulkBar>
        <Group gap="xs" ml="auto">
          <ColumnMenu columns={all} hidden={hidden} onChange={setHidden} />
          <Button size="xs" variant="default" onClick={() => exportRows('keys.csv', shown, keys)}>
            Export CSV
          </Button>
        </Group>
      </Group>
      <DataTable
        rows={keys}
        keyOf={({ hash }) => hash}
        nameOf={({ name }) => name}
        selection={selection}
        minWidth={360}
        columns={[
          ...shown,
          canWrite && {
            header: 'Actions',
            isHeaderHidden: true,
            render: (key) => <KeyActions apiKey={key} />,
          },
        ]}
      />
    </Stack>
  )
}

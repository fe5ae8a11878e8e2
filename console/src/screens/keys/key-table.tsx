import { Badge, Text } from '@mantine/core'
import { mayDo, useSession } from '../../app/session.tsx'
import { textsOf } from '../../components/budget-intervals.ts'
import { DataTable } from '../../components/data-table.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { UsageBar } from '../../components/usage-bar.tsx'
import { useMemberNames } from '../../components/use-members.ts'
import { useWorkspaceColumn } from '../../components/workspace-column.tsx'
import { KeyActions } from './key-actions.tsx'
import { type ApiKey, stateOf, usedOf } from './key-fields.ts'

const stateColors = { active: 'teal', disabled: 'gray', expired: 'red' } as const

export function KeyStateBadge({ apiKey }: { apiKey: ApiKey }) {
  const state = stateOf(apiKey)
  return (
    <Badge color={stateColors[state]} variant="light" tt="none" miw="max-content">
      {state}
    </Badge>
  )
}

export function KeyLimit({ apiKey }: { apiKey: ApiKey }) {
  const interval = textsOf(apiKey.limit_reset ?? 'lifetime').each
  return <UsageBar used={usedOf(apiKey)} limit={apiKey.limit} interval={interval} />
}

export function KeyTable({ keys }: { keys: ApiKey[] }) {
  const canWrite = mayDo(useSession(), 'keys:write')
  const nameOf = useMemberNames(keys.map(({ creator_user_id }) => creator_user_id))
  const workspaceColumn = useWorkspaceColumn<ApiKey>(keys.map(({ workspace_id }) => workspace_id))
  return (
    <DataTable
      rows={keys}
      keyOf={({ hash }) => hash}
      minWidth={340}
      columns={[
        {
          header: 'Name',
          breaksWords: true,
          maxWidth: 260,
          render: ({ hash, name, label }) => (
            <>
              <TextLink to="/keys/$hash" params={{ hash }}>
                {name}
              </TextLink>
              <Text size="xs" c="dimmed" ff="monospace">
                {label}
              </Text>
            </>
          ),
        },
        { header: 'Spent', render: (key) => <KeyLimit apiKey={key} /> },
        {
          header: 'Last used',
          visibleFrom: 'md',
          render: ({ last_used_at }) => (last_used_at ? <Time iso={last_used_at} style="age" /> : 'never'),
        },
        {
          header: 'Expires',
          visibleFrom: 'md',
          render: ({ expires_at }) => (expires_at ? <Time iso={expires_at} style="age" /> : 'never'),
        },
        {
          header: 'Created',
          visibleFrom: 'md',
          maxWidth: 180,
          render: ({ created_at, creator_user_id }) => (
            <>
              <Time iso={created_at} style="age" />
              <Text size="xs" c="dimmed" truncate>
                {nameOf(creator_user_id)}
              </Text>
            </>
          ),
        },
        ...workspaceColumn,
        { header: 'State', render: (key) => <KeyStateBadge apiKey={key} /> },
        canWrite && {
          header: 'Actions',
          isHeaderHidden: true,
          render: (key) => <KeyActions apiKey={key} />,
        },
      ]}
    />
  )
}

import { Badge, Text } from '@mantine/core'
import { textsOf } from '../../components/budget-intervals.ts'
import type { Column } from '../../components/data-table.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { UsageBar } from '../../components/usage-bar.tsx'
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

/** The columns of keys, except those that need further records. */
export function listKeyColumns(ownerOf: (id: string | null) => string): Column<ApiKey>[] {
  return [
    {
      header: 'Name',
      breaksWords: true,
      maxWidth: 260,
      csv: ({ name }) => name,
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
    { header: 'Spent', csv: usedOf, render: (key) => <KeyLimit apiKey={key} /> },
    {
      header: 'Owner',
      visibleFrom: 'md',
      maxWidth: 180,
      csv: ({ creator_user_id }) => ownerOf(creator_user_id),
      render: ({ creator_user_id }) => (
        <Text size="sm" truncate>
          {ownerOf(creator_user_id)}
        </Text>
      ),
    },
    { header: 'Tier', visibleFrom: 'lg', csv: ({ tier }) => tier, render: ({ tier }) => tier ?? '–' },
    {
      header: 'Last used',
      visibleFrom: 'md',
      csv: ({ last_used_at }) => last_used_at,
      render: ({ last_used_at }) => (last_used_at ? <Time iso={last_used_at} style="age" /> : 'never'),
    },
    {
      header: 'Expires',
      visibleFrom: 'md',
      csv: ({ expires_at }) => expires_at,
      render: ({ expires_at }) => (expires_at ? <Time iso={expires_at} style="age" /> : 'never'),
    },
    {
      header: 'Created',
      visibleFrom: 'lg',
      csv: ({ created_at }) => created_at,
      render: ({ created_at }) => <Time iso={created_at} style="age" />,
    },
  ]
}

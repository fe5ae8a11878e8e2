import { Anchor, Badge, Table, Text, VisuallyHidden } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { mayDo, useSession } from '../../app/session.tsx'
import { Time } from '../../components/time.tsx'
import { UsageBar } from '../../components/usage-bar.tsx'
import { KeyActions } from './key-actions.tsx'
import { type ApiKey, resetTexts, stateOf, usedOf } from './key-fields.ts'
import { useCreators } from './use-creators.ts'

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
  const interval = apiKey.limit_reset && resetTexts[apiKey.limit_reset]
  return <UsageBar used={usedOf(apiKey)} limit={apiKey.limit} interval={interval} />
}

export function KeyTable({ keys }: { keys: ApiKey[] }) {
  const canWrite = mayDo(useSession(), 'keys:write')
  const nameOf = useCreators()
  return (
    <Table.ScrollContainer minWidth={340}>
      <Table highlightOnHover verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Spent</Table.Th>
            <Table.Th visibleFrom="md">Last used</Table.Th>
            <Table.Th visibleFrom="md">Expires</Table.Th>
            <Table.Th visibleFrom="md">Created</Table.Th>
            <Table.Th>State</Table.Th>
            {canWrite && (
              <Table.Th>
                <VisuallyHidden>Actions</VisuallyHidden>
              </Table.Th>
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => (
            <KeyRow key={key.hash} apiKey={key} creator={nameOf(key.creator_user_id)} canWrite={canWrite} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

interface KeyRowProps {
  apiKey: ApiKey
  creator: string
  canWrite: boolean
}

function KeyRow({ apiKey, creator, canWrite }: KeyRowProps) {
  return (
    <Table.Tr>
      <Table.Td maw={260} style={{ overflowWrap: 'anywhere' }}>
        <Anchor component={Link} to={`/keys/${apiKey.hash}`} size="sm" fw={600}>
          {apiKey.name}
        </Anchor>
        <Text size="xs" c="dimmed" ff="monospace">
          {apiKey.label}
        </Text>
      </Table.Td>
      <Table.Td>
        <KeyLimit apiKey={apiKey} />
      </Table.Td>
      <Table.Td visibleFrom="md">
        <Text size="sm" component="div">
          {apiKey.last_used_at ? <Time iso={apiKey.last_used_at} style="age" /> : 'never'}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="md">
        <Text size="sm" component="div">
          {apiKey.expires_at ? <Time iso={apiKey.expires_at} style="age" /> : 'never'}
        </Text>
      </Table.Td>
      <Table.Td maw={180} visibleFrom="md">
        <Text size="sm" component="div">
          <Time iso={apiKey.created_at} style="age" />
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {creator}
        </Text>
      </Table.Td>
      <Table.Td>
        <KeyStateBadge apiKey={apiKey} />
      </Table.Td>
      {canWrite && (
        <Table.Td>
          <KeyActions apiKey={apiKey} />
        </Table.Td>
      )}
    </Table.Tr>
  )
}

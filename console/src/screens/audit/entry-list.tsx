import { Badge, Button, Collapse, Group, Paper, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import type { Schemas } from '../../api/client.ts'
import { Id } from '../../components/copy.tsx'
import { Fields } from '../../components/fields.tsx'
import { Time } from '../../components/time.tsx'
import { formatValue, listChanges } from './changes.ts'
import type { AuditFilters } from './filters.ts'

type Entry = Schemas['AuditEntry']

interface EntryListProps {
  entries: Entry[]
  onFilter: (filters: AuditFilters) => void
}

export function EntryList({ entries, onFilter }: EntryListProps) {
  return (
    <Stack component="ul" gap="xs" p={0} m={0} style={{ listStyle: 'none' }}>
      {entries.map((entry) => (
        <Paper component="li" key={entry.id} withBorder p="sm">
          <EntryRow entry={entry} onFilter={onFilter} />
        </Paper>
      ))}
    </Stack>
  )
}

interface EntryRowProps {
  entry: Entry
  onFilter: (filters: AuditFilters) => void
}

function EntryRow({ entry, onFilter }: EntryRowProps) {
  const [isOpen, { toggle }] = useDisclosure()
  const { action, actor, target, outcome, created_at } = entry
  const actorName = actor.name ?? actor.id ?? actor.type
  return (
    <>
      <Group justify="space-between" gap="xs" align="flex-start">
        <div style={{ flex: '1 1 260px', minWidth: 0, overflowWrap: 'anywhere' }}>
          <Group gap="xs">
            <Text fw={600} size="sm">
              {action}
            </Text>
            {outcome === 'refused' && (
              <Badge color="red" variant="light" tt="none">
                refused
              </Badge>
            )}
            <Text size="sm" c="dimmed">
              <Time iso={created_at} />
            </Text>
          </Group>
          <Text size="sm">
            {actorName} <Dimmed>({actor.type})</Dimmed> · {target.name ?? target.id}{' '}
            <Dimmed>({target.type})</Dimmed>
          </Text>
        </div>
        <Button
          size="xs"
          variant="default"
          onClick={toggle}
          aria-expanded={isOpen}
          aria-label={`Details of ${action}, ${target.name ?? target.id}`}
        >
          {isOpen ? 'Less' : 'Details'}
        </Button>
      </Group>
      <Collapse expanded={isOpen}>{isOpen && <EntryDetails entry={entry} onFilter={onFilter} />}</Collapse>
    </>
  )
}

function Dimmed({ children }: { children: ReactNode }) {
  return (
    <Text span c="dimmed" size="sm">
      {children}
    </Text>
  )
}

function EntryDetails({ entry, onFilter }: EntryRowProps) {
  const { actor, target, changes, request_id, ip, user_agent, workspace_id } = entry
  const actorId = actor.id
  return (
    <Stack gap="sm" pt="sm">
      <Changes before={changes?.before} after={changes?.after} />
      <Fields
        fields={[
          ...Object.entries(changes?.details ?? {}).map(([name, value]): [string, string] => [
            name,
            formatValue(value),
          ]),
          ['Acted', actor.id ? <Id key="actor" value={actor.id} /> : (actor.name ?? actor.type)],
          ['Target', <Id key="target" value={target.id} />],
          ['Workspace', workspace_id ? <Id key="workspace" value={workspace_id} /> : 'none'],
          ['Request', request_id ? <Id key="request" value={request_id} /> : 'none'],
          ['Address', ip ?? 'unknown'],
          ['Program', user_agent ?? 'unknown'],
          ['Entry', <Id key="entry" value={entry.id} />],
          ['Hash', <Id key="hash" value={entry.hash} label="Copy the hash" />],
        ]}
      />
      <Group gap="xs">
        {actorId !== null && (
          <Button size="compact-xs" variant="default" onClick={() => onFilter({ actor_id: actorId })}>
            All of this actor
          </Button>
        )}
        <Button size="compact-xs" variant="default" onClick={() => onFilter({ target_id: target.id })}>
          All of this target
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => onFilter({ action: entry.action })}>
          All with this action
        </Button>
      </Group>
    </Stack>
  )
}

interface ChangesProps {
  before: Record<string, unknown> | null | undefined
  after: Record<string, unknown> | null | undefined
}

/** The fields that differ, before and after. */
function Changes({ before, after }: ChangesProps) {
  const changes = listChanges(before, after)
  if (changes.length === 0) return null
  return (
    <Table.ScrollContainer minWidth={480}>
      <Table layout="fixed" withTableBorder>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="26%">Field</Table.Th>
            <Table.Th>Before</Table.Th>
            <Table.Th>After</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changes.map((change) => (
            <Table.Tr key={change.field} style={{ overflowWrap: 'anywhere' }}>
              <Table.Td>{change.field}</Table.Td>
              <Table.Td
                style={{
                  background: change.before === undefined ? undefined : 'var(--mantine-color-red-light)',
                }}
              >
                {formatValue(change.before)}
              </Table.Td>
              <Table.Td
                style={{
                  background: change.after === undefined ? undefined : 'var(--mantine-color-teal-light)',
                }}
              >
                {formatValue(change.after)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

import { Badge, Button, Collapse, Group, Paper, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { formatValue, labelOf, listChanges } from '../../components/audit-changes.ts'
import { describeEntry, type Entry, nameActor } from '../../components/audit-sentence.ts'
import { nounOf } from '../../components/audit-vocabulary.ts'
import { Id } from '../../components/copy.tsx'
import { Fields } from '../../components/fields.tsx'
import { Time } from '../../components/time.tsx'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import type { AuditFilters } from './filters.ts'

interface EntryListProps {
  entries: Entry[]
  onFilter: (filters: AuditFilters) => void
}

export function EntryList({ entries, onFilter }: EntryListProps) {
  const workspaceOf = useWorkspaceNames(entries.map(({ workspace_id }) => workspace_id))
  return (
    <Stack component="ul" gap="xs" p={0} m={0} style={{ listStyle: 'none' }}>
      {entries.map((entry) => (
        <Paper component="li" key={entry.id} withBorder p="sm">
          <EntryRow entry={entry} sentence={describeEntry(entry, { workspaceOf })} onFilter={onFilter} />
        </Paper>
      ))}
    </Stack>
  )
}

interface EntryDetailsProps {
  entry: Entry
  onFilter: (filters: AuditFilters) => void
}

function EntryRow({ entry, sentence, onFilter }: EntryDetailsProps & { sentence: string }) {
  const [isOpen, { toggle }] = useDisclosure()
  const { action, outcome, created_at } = entry
  return (
    <>
      <Group justify="space-between" gap="xs" align="flex-start">
        <div style={{ flex: '1 1 260px', minWidth: 0, overflowWrap: 'anywhere' }}>
          <Text size="sm">{sentence}</Text>
          <Group gap="xs">
            <Text size="xs" c="dimmed" component="div">
              <Time iso={created_at} style="age" /> · {action}
            </Text>
            {outcome === 'refused' && (
              <Badge color="red" variant="light" tt="none">
                refused
              </Badge>
            )}
          </Group>
        </div>
        <Button
          size="xs"
          variant="default"
          onClick={toggle}
          aria-expanded={isOpen}
          aria-label={`Details: ${sentence}`}
        >
          {isOpen ? 'Less' : 'Details'}
        </Button>
      </Group>
      <Collapse expanded={isOpen}>{isOpen && <EntryDetails entry={entry} onFilter={onFilter} />}</Collapse>
    </>
  )
}

function EntryDetails({ entry, onFilter }: EntryDetailsProps) {
  const { actor, target, changes, created_at, request_id, ip, user_agent, workspace_id } = entry
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
          ['Time', <Time key="time" iso={created_at} />],
          ['Actor', actor.id ? <Id key="actor" value={actor.id} /> : nameActor(actor)],
          [`Id of the ${nounOf(target.type)}`, <Id key="target" value={target.id} />],
          ['Workspace', workspace_id ? <Id key="workspace" value={workspace_id} /> : 'none'],
          ['Request', request_id ? <Id key="request" value={request_id} /> : 'none'],
          ['Address', ip ?? 'unknown'],
          ['Client', user_agent ?? 'unknown'],
          ['Entry', <Id key="entry" value={entry.id} />],
          ['Hash', <Id key="hash" value={entry.hash} label="Copy the hash" />],
        ]}
      />
      <Group gap="xs">
        {actorId !== null && (
          <Button size="compact-xs" variant="default" onClick={() => onFilter({ actor_id: actorId })}>
            Everything by this actor
          </Button>
        )}
        <Button size="compact-xs" variant="default" onClick={() => onFilter({ target_id: target.id })}>
          Everything about this object
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => onFilter({ action: entry.action })}>
          Every such change
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
              <Table.Td>{labelOf(change.field)}</Table.Td>
              <Table.Td
                style={{
                  background: change.before === undefined ? undefined : 'var(--mantine-color-red-light)',
                }}
              >
                {formatValue(change.before, change.field)}
              </Table.Td>
              <Table.Td
                style={{
                  background: change.after === undefined ? undefined : 'var(--mantine-color-teal-light)',
                }}
              >
                {formatValue(change.after, change.field)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

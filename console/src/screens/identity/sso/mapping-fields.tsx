import { Button, Group, Paper, Select, SimpleGrid, Stack, Text } from '@mantine/core'
import { randomId } from '@mantine/hooks'
import { TextField } from '../../../components/text-field.tsx'
import { WorkspaceSelect } from '../../../components/workspace-select.tsx'
import { isMembership, type MappingDraft } from './connection-draft.ts'
import { useRoleOptions } from './use-role-options.ts'

const memberships = [
  { value: 'member', label: 'Member of the workspace' },
  { value: 'admin', label: 'Admin of the workspace' },
]

/** The API takes no more. */
const maxMappings = 500

interface MappingFieldsProps {
  mappings: MappingDraft[]
  onChange: (mappings: MappingDraft[]) => void
}

/** Edits the roles of people whose claims match. */
export function MappingFields({ mappings, onChange }: MappingFieldsProps) {
  const update = (key: string, changes: Partial<MappingDraft>) =>
    onChange(mappings.map((mapping) => (mapping.key === key ? { ...mapping, ...changes } : mapping)))
  const add = () =>
    onChange([
      ...mappings,
      { key: randomId(), claim: 'groups', value: '', workspace_id: null, role: 'member' },
    ])
  return (
    <Stack gap="xs">
      <Text size="sm" fw={700}>
        Groups and claims
      </Text>
      <Text size="sm" c="dimmed">
        Roles and workspaces for people whose claims match, updated at each sign-in. Removing a mapping takes
        effect immediately. Claims cannot make somebody an admin of the organization.
      </Text>
      {mappings.map((mapping, index) => (
        <MappingRow
          key={mapping.key}
          mapping={mapping}
          number={index + 1}
          onChange={(changes) => update(mapping.key, changes)}
          onRemove={() => onChange(mappings.filter(({ key }) => key !== mapping.key))}
        />
      ))}
      {mappings.length < maxMappings && (
        <Group>
          <Button size="xs" variant="default" onClick={add}>
            Add a mapping
          </Button>
        </Group>
      )}
    </Stack>
  )
}

interface MappingRowProps {
  mapping: MappingDraft
  number: number
  onChange: (changes: Partial<MappingDraft>) => void
  onRemove: () => void
}

function MappingRow({ mapping, number, onChange, onRemove }: MappingRowProps) {
  const roles = useRoleOptions()
  const needsWorkspace = isMembership(mapping.role)
  return (
    <Paper withBorder p="sm">
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs">
        <TextField
          label={`Claim of mapping ${number}`}
          description="For example groups or realm_access.roles"
          required
          maxLength={256}
          value={mapping.claim}
          onChange={(claim) => onChange({ claim })}
        />
        <TextField
          label={`Value of mapping ${number}`}
          description="The claim is this text, or a list with it"
          required
          maxLength={512}
          value={mapping.value}
          onChange={(value) => onChange({ value })}
        />
        <Select
          label={`Role of mapping ${number}`}
          required
          data={[...memberships, ...roles]}
          searchable
          allowDeselect={false}
          value={mapping.role}
          onChange={(role) => role && onChange({ role })}
        />
        <WorkspaceSelect
          label={`Where, of mapping ${number}`}
          placeholder={needsWorkspace ? 'Choose a workspace' : 'In the whole organization'}
          value={mapping.workspace_id}
          onChange={(workspace_id) => onChange({ workspace_id })}
        />
      </SimpleGrid>
      <Group justify="flex-end" pt="xs">
        <Button size="xs" variant="default" aria-label={`Remove mapping ${number}`} onClick={onRemove}>
          Remove
        </Button>
      </Group>
    </Paper>
  )
}

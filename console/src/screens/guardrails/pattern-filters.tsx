import { Button, Checkbox, Fieldset, Group, Select, Stack, TextInput } from '@mantine/core'
import type { CustomFilter } from './draft.ts'
import { filterActions, readAction } from './filter-action.ts'

const scopes: { value: NonNullable<CustomFilter['scope']>; label: string }[] = [
  { value: 'input', label: 'Prompts' },
  { value: 'output', label: 'Replies' },
  { value: 'both', label: 'Prompts and replies' },
]

interface PatternFiltersProps {
  filters: CustomFilter[]
  onChange: (filters: CustomFilter[]) => void
}

/** Regular expressions, and what to do with what they match. */
export function PatternFilters({ filters, onChange }: PatternFiltersProps) {
  const set = (index: number, more: Partial<CustomFilter>) =>
    onChange(filters.map((filter, at) => (at === index ? keepValid({ ...filter, ...more }) : filter)))
  return (
    <Fieldset legend="Custom patterns">
      <Stack gap="sm">
        {filters.map((filter, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: patterns have no id, and may be equal.
          <Group key={index} align="flex-end" gap="sm">
            <TextInput
              label="Regular expression"
              placeholder="PROJ-[0-9]+"
              required
              style={{ flex: '2 1 220px' }}
              value={filter.pattern}
              onChange={(event) => set(index, { pattern: event.currentTarget.value })}
            />
            <TextInput
              label="Replacement"
              placeholder="[PROJECT]"
              maxLength={100}
              style={{ flex: '1 1 120px' }}
              value={filter.label ?? ''}
              onChange={(event) => set(index, { label: event.currentTarget.value || null })}
            />
            <Select
              label="Action"
              data={filterActions}
              allowDeselect={false}
              style={{ flex: '1 1 110px' }}
              value={filter.action}
              onChange={(value) => set(index, { action: readAction(value) ?? filter.action })}
            />
            <Select
              label="Checked in"
              data={scopes}
              allowDeselect={false}
              style={{ flex: '1 1 150px' }}
              value={filter.scope ?? 'input'}
              onChange={(value) =>
                set(index, { scope: scopes.find((scope) => scope.value === value)?.value ?? 'input' })
              }
            />
            {canRestore(filter) && (
              <Checkbox
                label="Restore in replies"
                aria-label={`Restore in replies: pattern ${index + 1}`}
                mb={8}
                checked={filter.reversible ?? false}
                onChange={(event) => set(index, { reversible: event.currentTarget.checked })}
              />
            )}
            <Button
              variant="default"
              aria-label={`Remove pattern ${index + 1}`}
              onClick={() => onChange(filters.filter((other) => other !== filter))}
            >
              Remove
            </Button>
          </Group>
        ))}
        <Group>
          <Button
            size="xs"
            variant="default"
            onClick={() => onChange([...filters, { pattern: '', action: 'flag' }])}
          >
            Add pattern
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  )
}

/** Whether the values that it matches can be restored: they must be redacted, in prompts. */
function canRestore({ action, scope }: CustomFilter): boolean {
  return action === 'redact' && scope !== 'output'
}

function keepValid(filter: CustomFilter): CustomFilter {
  const { reversible, ...rest } = filter
  return reversible && canRestore(filter) ? filter : rest
}

import { Button, Group, Popover, SegmentedControl, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useWorkspace } from '../../app/workspace.tsx'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import {
  defaultPeriod,
  type FilterName,
  filterNames,
  hasOwnRange,
  isValidFilter,
  type Period,
  periods,
  type RequestSearch,
  statuses,
} from './search.ts'

const labels: Record<FilterName, string> = {
  from: 'From',
  to: 'To',
  model: 'Model',
  provider: 'Provider',
  key: 'Key (hash)',
  user_id: 'Member (id)',
  workspace_id: 'Workspace',
  status: 'Status',
  error_code: 'Error code',
  format: 'Format',
  app: 'App',
  session_id: 'Session',
  min_cost: 'Cost at least (USD)',
  min_latency: 'Duration at least (ms)',
}

const textFilters = filterNames.filter((name) => name !== 'status' && name !== 'workspace_id')

interface FiltersProps {
  search: RequestSearch
  onChange: (search: RequestSearch) => void
}

export function Filters({ search, onChange }: FiltersProps) {
  const { id: menuWorkspace } = useWorkspace()
  const active = filterNames.filter(
    (name) => search[name] !== undefined && (name !== 'workspace_id' || menuWorkspace === null),
  )
  const workspaceOf = useWorkspaceNames([search.workspace_id ?? null])
  const textOf = (name: FilterName) => {
    const value = search[name] ?? ''
    return name === 'workspace_id' ? workspaceOf(value) : value
  }
  return (
    <Group gap="xs">
      <SegmentedControl
        size="xs"
        aria-label="Period"
        data={Object.keys(periods)}
        value={hasOwnRange(search) ? '' : (search.period ?? defaultPeriod)}
        onChange={(period) => {
          const { from: _from, to: _to, ...filters } = search
          onChange({ ...filters, period: period as Period })
        }}
      />
      <Select
        size="xs"
        w={130}
        aria-label="Status"
        placeholder="Any status"
        clearable
        data={[...statuses, { value: 'failed,refused', label: 'failed or refused' }]}
        value={search.status ?? null}
        onChange={(status) => onChange(replace(search, 'status', status ?? ''))}
      />
      <FilterForm key={JSON.stringify(search)} search={search} onChange={onChange} />
      {active.map((name) => (
        <Button
          key={name}
          size="xs"
          variant="light"
          aria-label={`Remove the filter ${labels[name]}`}
          onClick={() => onChange(replace(search, name, ''))}
        >
          {labels[name]}: {shorten(textOf(name))} ×
        </Button>
      ))}
    </Group>
  )
}

function FilterForm({ search, onChange }: FiltersProps) {
  const [draft, setDraft] = useState(search)
  const [isOpen, setOpen] = useState(false)
  const errors = filterNames.filter((name) => draft[name] !== undefined && !isValidFilter(name, draft[name]))
  const apply = () => {
    if (errors.length > 0) return
    setOpen(false)
    onChange(draft)
  }
  return (
    <Popover opened={isOpen} onChange={setOpen} trapFocus returnFocus withArrow shadow="md" width={460}>
      <Popover.Target>
        <Button size="xs" variant="default" onClick={() => setOpen(!isOpen)}>
          Filter
        </Button>
      </Popover.Target>
      <Popover.Dropdown maw="calc(100vw - 24px)">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            apply()
          }}
        >
          <Stack gap="sm">
            <FilterFields draft={draft} errors={errors} onChange={setDraft} />
            <Group justify="flex-end" gap="xs">
              <Button
                size="xs"
                variant="default"
                onClick={() => onChange({ ...(search.period && { period: search.period }) })}
              >
                Clear all
              </Button>
              <Button size="xs" type="submit">
                Apply
              </Button>
            </Group>
          </Stack>
        </form>
      </Popover.Dropdown>
    </Popover>
  )
}

interface FilterFieldsProps {
  draft: RequestSearch
  errors: FilterName[]
  onChange: (draft: RequestSearch) => void
}

function FilterFields({ draft, errors, onChange }: FilterFieldsProps) {
  return (
    <SimpleGrid cols={2} spacing="xs">
      {textFilters.map((name) => (
        <TextInput
          key={name}
          size="xs"
          label={labels[name]}
          value={draft[name] ?? ''}
          error={errors.includes(name) && errorOf(name)}
          onChange={(event) => onChange(replace(draft, name, event.currentTarget.value.trim()))}
        />
      ))}
    </SimpleGrid>
  )
}

function errorOf(name: FilterName): string {
  if (name === 'key') return 'The 64 characters of its hash'
  if (name === 'min_cost') return 'Dollars, such as 0.05'
  if (name === 'min_latency') return 'Whole milliseconds'
  return 'At most 256 characters'
}

function replace(search: RequestSearch, name: FilterName, value: string): RequestSearch {
  const { [name]: _, ...rest } = search
  return value === '' ? rest : { ...rest, [name]: value }
}

function shorten(text: string): string {
  return text.length > 24 ? `${text.slice(0, 12)}…` : text
}

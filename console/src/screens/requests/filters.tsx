import { Button, Group, SegmentedControl, Select, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useWorkspace } from '../../app/workspace.tsx'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import { fieldNames, listChips, parseQuery } from './query.ts'
import {
  defaultPeriod,
  type FilterName,
  hasOwnRange,
  type Period,
  periods,
  type RequestSearch,
  statuses,
} from './search.ts'

const statusChoices = [...statuses, { value: 'error', label: 'failed or refused' }]

interface FiltersProps {
  search: RequestSearch
  onChange: (search: RequestSearch) => void
}

/** One field for all filters; those that are set are chips. */
export function Filters({ search, onChange }: FiltersProps) {
  return (
    <Stack gap="xs">
      <Group gap="xs" align="flex-start">
        <SearchField search={search} onChange={onChange} />
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
          data={statusChoices}
          value={search.status ?? null}
          onChange={(status) => onChange(replace(search, 'status', status ?? ''))}
        />
      </Group>
      <Chips search={search} onChange={onChange} />
    </Stack>
  )
}

function SearchField({ search, onChange }: FiltersProps) {
  const [draft, setDraft] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const submit = () => {
    const parsed = parseQuery(draft)
    setProblem(parsed.problem)
    if (parsed.problem !== null || draft.trim() === '') return
    setDraft('')
    onChange({ ...search, ...parsed.filters })
  }
  return (
    <form
      style={{ flex: '1 1 320px' }}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <TextInput
        size="xs"
        type="search"
        aria-label="Search requests"
        placeholder='model:claude status:error cost>0.01 latency>5s "text in the prompt"'
        value={draft}
        error={problem}
        list="request-search-fields"
        onChange={(event) => {
          setDraft(event.currentTarget.value)
          setProblem(null)
        }}
      />
      <datalist id="request-search-fields">
        {listCompletions(draft).map((text) => (
          <option key={text} value={text} />
        ))}
      </datalist>
    </form>
  )
}

/** Completes the name of a field that is being typed. */
function listCompletions(draft: string): string[] {
  const at = draft.lastIndexOf(' ') + 1
  const typed = draft.slice(at)
  const names = [...fieldNames.map((name) => `${name}:`), 'cost>', 'latency>']
  return names.filter((name) => name.startsWith(typed)).map((name) => draft.slice(0, at) + name)
}

function Chips({ search, onChange }: FiltersProps) {
  const { id: menuWorkspace } = useWorkspace()
  const workspaceOf = useWorkspaceNames([search.workspace_id ?? null])
  const chips = listChips(search)
  if (search.workspace_id !== undefined && menuWorkspace === null)
    chips.push({ name: 'workspace_id', text: `workspace:${workspaceOf(search.workspace_id)}` })
  if (chips.length === 0) return null
  return (
    <Group gap={6} role="group" aria-label="Filters">
      {chips.map(({ name, text }) => (
        <Button
          key={name}
          size="compact-xs"
          variant="light"
          aria-label={`Remove the filter ${text}`}
          onClick={() => onChange(replace(search, name, ''))}
        >
          {shorten(text)} ×
        </Button>
      ))}
      <Button
        size="compact-xs"
        variant="subtle"
        onClick={() => onChange({ ...(search.period && { period: search.period }) })}
      >
        Clear all
      </Button>
    </Group>
  )
}

function replace(search: RequestSearch, name: FilterName, value: string): RequestSearch {
  const { [name]: _, ...rest } = search
  return value === '' ? rest : { ...rest, [name]: value }
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 32)}…` : text
}

import { Button, Combobox, Group, Stack, Text, TextInput, useCombobox } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { type ChoiceSource, type FilterChoice, keepMatching, useFilterChoices } from './filter-choices.ts'
import {
  addValue,
  type Chip,
  type FilterFields,
  type Filters,
  parseFilters,
  readTypedEnd,
  type TypedEnd,
  type ValueField,
} from './filter-query.ts'
import { SearchIcon } from './icons.tsx'

const debounceMs = 200

/** A field with the records that complete it, and what it means. */
export interface CompletedField extends ValueField {
  source?: ChoiceSource
  /** Values that are offered; others can be typed. */
  suggestions?: readonly string[]
  hint: string
}

interface FilterInputProps {
  label: string
  placeholder: string
  fields: FilterFields<CompletedField>
  filters: Filters
  /** Null if the filters are accepted, or the problem. */
  onFilter: (filters: Record<string, string>) => string | null
}

/** One field for all filters of a list, with the names of fields and of records completed. */
export function FilterInput({ label, placeholder, fields, filters, onFilter }: FilterInputProps) {
  const [draft, setDraft] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() })
  const end = readTypedEnd(draft, fields)
  const options = useOptions(end, fields)
  const write = (next: string) => {
    setDraft(next)
    setProblem(null)
    combobox.openDropdown()
    combobox.resetSelectedOption()
  }
  const apply = (added: Record<string, string>, rest: string) => {
    const found = onFilter(added)
    setProblem(found)
    if (found === null) setDraft(rest)
    combobox.closeDropdown()
  }
  const choose = (id: string) => {
    const option = options.find((known) => known.id === id)
    if (!option) return
    if (end.field === null) write(end.before + option.insert)
    else apply(addChosen(filters, end, option), end.before.trim())
  }
  const submit = () => {
    const parsed = parseFilters(draft, fields)
    setProblem(parsed.problem)
    if (parsed.problem === null && draft.trim() !== '') apply(parsed.filters, '')
  }
  return (
    <form
      style={{ flex: '1 1 320px' }}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Combobox store={combobox} onOptionSubmit={choose} size="xs">
        <Combobox.Target>
          <TextInput
            size="xs"
            leftSection={<SearchIcon />}
            aria-label={label}
            placeholder={placeholder}
            maxLength={1000}
            autoComplete="off"
            value={draft}
            error={problem}
            onChange={(event) => write(event.currentTarget.value)}
            onClick={() => combobox.openDropdown()}
            onBlur={() => combobox.closeDropdown()}
          />
        </Combobox.Target>
        <Combobox.Dropdown hidden={options.length === 0}>
          <Combobox.Options aria-label="Suggestions" mah={280} style={{ overflowY: 'auto' }}>
            {options.map(({ id, label, description }) => (
              <Combobox.Option key={id} value={id}>
                <Group gap="xs" justify="space-between" wrap="nowrap">
                  <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
                    {label}
                  </Text>
                  <Text size="xs" c="dimmed" truncate>
                    {description}
                  </Text>
                </Group>
              </Combobox.Option>
            ))}
          </Combobox.Options>
        </Combobox.Dropdown>
      </Combobox>
    </form>
  )
}

interface Option {
  id: string
  label: string
  description?: string
  /** The text, or the value, that it stands for. */
  insert: string
}

/** The names of fields, or the values of the field that is being typed. */
function useOptions(end: TypedEnd, fields: FilterInputProps['fields']): Option[] {
  const field = fields.values.find(({ name }) => name === end.field?.name)
  const choices = useChoices(field, end.text)
  if (field) return choices.map(({ value, ...rest }) => ({ ...rest, id: `value ${value}`, insert: value }))
  const minus = end.isExcluded ? '-' : ''
  return [
    ...fields.values
      .filter(({ isList }) => isList || !end.isExcluded)
      .map(({ name, hint }) => ({ insert: `${minus}${name}:`, description: hint })),
    ...(end.isExcluded ? [] : (fields.bounds ?? [])).map(({ name, min, example }) => ({
      insert: `${name}${min === undefined ? '<' : '>'}`,
      description: `Such as ${example}`,
    })),
  ]
    .filter(({ insert }) => insert.startsWith(minus + end.text.toLowerCase()))
    .map((option) => ({ ...option, id: `field ${option.insert}`, label: option.insert }))
}

function useChoices(field: CompletedField | undefined, text: string): FilterChoice[] {
  const sources = useFilterChoices()
  const [settled] = useDebouncedValue(text.trim(), debounceMs)
  const find = field?.source && sources[field.source]
  const { data } = useQuery({
    queryKey: ['filter choices', field?.source, settled],
    queryFn: () => find?.(settled) ?? [],
    enabled: find !== undefined,
    staleTime: 60_000,
    placeholderData: (found, last) => (last?.queryKey[1] === field?.source ? found : undefined),
  })
  const known = field?.suggestions ?? field?.values
  if (known)
    return keepMatching(
      known.map((value) => ({ value, label: value })),
      text,
    )
  return find ? (data ?? []) : []
}

function addChosen(filters: Filters, { field, isExcluded }: TypedEnd, { insert }: Option) {
  if (field === null) return {}
  const present = filters[field.parameter]
  return { [field.parameter]: addValue(present, field, { isExcluded, value: insert }) }
}

interface FilterChipsProps {
  chips: readonly Chip[]
  onRemove: (parameter: string) => void
  onClear: () => void
}

/** The filters that are set. */
export function FilterChips({ chips, onRemove, onClear }: FilterChipsProps) {
  if (chips.length === 0) return null
  return (
    <Group gap={6} role="group" aria-label="Filters">
      {chips.map(({ parameter, text }) => (
        <Button
          key={parameter}
          size="compact-xs"
          variant="light"
          aria-label={`Remove the filter ${text}`}
          onClick={() => onRemove(parameter)}
        >
          {text.length > 40 ? `${text.slice(0, 32)}…` : text} ×
        </Button>
      ))}
      <Button size="compact-xs" variant="subtle" onClick={onClear}>
        Clear all
      </Button>
    </Group>
  )
}

interface FilterBarProps extends FilterInputProps {
  chips: readonly Chip[]
  onRemove: (parameter: string) => void
  onClear: () => void
  /** Controls beside the field. */
  children?: ReactNode
}

/** The field, controls beside it, and what is set below. */
export function FilterBar({ chips, onRemove, onClear, children, ...input }: FilterBarProps) {
  return (
    <Stack gap="xs">
      <Group gap="xs" align="flex-start">
        <FilterInput {...input} />
        {children}
      </Group>
      <FilterChips chips={chips} onRemove={onRemove} onClear={onClear} />
    </Stack>
  )
}

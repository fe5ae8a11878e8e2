import { Button, Group, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { formatLocalInput, readLocalInput } from '../../format/local-input.ts'
import { type AuditFilters, actorTypes, outcomes, readFilters } from './filters.ts'

interface FilterBarProps {
  filters: AuditFilters
  onChange: (filters: AuditFilters) => void
}

/** Applied with Enter or the button, as each change is a search of the log. */
export function FilterBar({ filters, onChange }: FilterBarProps) {
  const [draft, setDraft] = useState<Draft>({ ...filters })
  const field = (name: string) => ({
    value: draft[name],
    onChange: (value: string | undefined) => setDraft({ ...draft, [name]: value }),
  })
  return (
    <form
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        onChange(readFilters(draft))
      }}
    >
      <Group gap="sm" align="flex-end">
        <TextFilter label="Action" placeholder="key.create" {...field('action')} />
        <ChoiceFilter label="Actor" choices={actorTypes} {...field('actor_type')} />
        <TextFilter label="Id of who acted" placeholder="user_…" {...field('actor_id')} />
        <TextFilter label="Kind of target" placeholder="guardrail" {...field('target_type')} />
        <TextFilter label="Id of the target" {...field('target_id')} />
        <ChoiceFilter label="Outcome" choices={outcomes} {...field('outcome')} />
        <TimeFilter label="From" {...field('from')} />
        <TimeFilter label="Until" {...field('to')} />
        <TextFilter label="Request id" {...field('request_id')} />
        <Group gap="xs">
          <Button type="submit" size="xs">
            Apply
          </Button>
          <Button size="xs" variant="default" onClick={() => onChange({})}>
            Clear
          </Button>
        </Group>
      </Group>
    </form>
  )
}

type Draft = Record<string, string | undefined>

interface FilterProps {
  label: string
  value: string | undefined
  onChange: (value: string | undefined) => void
}

function TextFilter({ value, onChange, ...rest }: FilterProps & { placeholder?: string }) {
  return (
    <TextInput
      {...rest}
      size="xs"
      value={value ?? ''}
      onChange={(event) => onChange(event.currentTarget.value)}
      style={{ flex: '1 1 150px' }}
    />
  )
}

function TimeFilter({ label, value, onChange }: FilterProps) {
  return (
    <TextInput
      label={label}
      type="datetime-local"
      size="xs"
      value={formatLocalInput(value)}
      onChange={(event) => onChange(readLocalInput(event.currentTarget.value))}
      style={{ flex: '1 1 180px' }}
    />
  )
}

function ChoiceFilter({ label, choices, value, onChange }: FilterProps & { choices: readonly string[] }) {
  return (
    <Select
      label={label}
      placeholder="Any"
      size="xs"
      clearable
      data={[...choices]}
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
      style={{ flex: '1 1 120px' }}
    />
  )
}

import { Button, Group, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { mayDo, useSession } from '../../app/session.tsx'
import { MemberSelect } from '../../components/member-select.tsx'
import { formatLocalInput, readLocalInput } from '../../format/local-input.ts'
import { type AuditFilters, actorTypes, outcomes, readFilters } from './filters.ts'
import { ObjectSelect } from './object-select.tsx'
import { describeAction, listActions, nounOf, targetTypes } from './vocabulary.ts'

interface FilterBarProps {
  filters: AuditFilters
  onChange: (filters: AuditFilters) => void
}

const actions = listActions()
const types = targetTypes.map((value) => ({ value, label: capitalize(nounOf(value)) }))
const actorLabels: Record<(typeof actorTypes)[number], string> = {
  member: 'Member',
  key: 'API key',
  workload: 'Workload',
  scim: 'SCIM',
  job: 'Server',
  command: 'Command line',
  anonymous: 'Not signed in',
}
const outcomeLabels = { success: 'Done', refused: 'Refused' }

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Each choice applies to the list at once, and is part of the address. */
export function FilterBar({ filters, onChange }: FilterBarProps) {
  const session = useSession()
  const [isOpen, setOpen] = useState(false)
  const set = (changes: Record<string, string | undefined>) =>
    onChange(readFilters({ ...filters, ...changes }))
  return (
    <Group gap="sm" align="flex-end" role="search" aria-label="Filters">
      {mayDo(session, 'members:read') && (
        <div style={{ flex: '1 1 200px', maxWidth: 320 }}>
          <MemberSelect
            label="Person"
            value={memberOf(filters)}
            onChange={(ids) => set({ actor_id: ids.at(-1) })}
          />
        </div>
      )}
      <Choice
        label="Action"
        data={withValue(actions, filters.action, describeAction)}
        value={filters.action}
        onChange={(action) => set({ action })}
      />
      <Choice
        label="Object type"
        data={withValue(types, filters.target_type, nounOf)}
        value={filters.target_type}
        onChange={(target_type) => set({ target_type })}
      />
      <ObjectSelect value={filters.target_id ?? null} onChange={(target_id) => set({ target_id })} />
      <Button size="sm" variant="subtle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Fewer filters' : 'More filters'}
      </Button>
      {Object.keys(filters).length > 0 && (
        <Button size="sm" variant="default" onClick={() => onChange({})}>
          Clear
        </Button>
      )}
      {isOpen && <MoreFilters filters={filters} onChange={set} />}
    </Group>
  )
}

/** Ids of members; others are those of keys. */
function memberOf({ actor_id }: AuditFilters): string[] {
  return actor_id !== undefined ? [actor_id] : []
}

interface MoreFiltersProps {
  filters: AuditFilters
  onChange: (changes: Record<string, string | undefined>) => void
}

function MoreFilters({ filters, onChange }: MoreFiltersProps) {
  return (
    <Group gap="sm" align="flex-end" w="100%">
      <Choice
        label="Actor type"
        data={actorTypes.map((value) => ({ value, label: actorLabels[value] }))}
        value={filters.actor_type}
        onChange={(actor_type) => onChange({ actor_type })}
      />
      <Choice
        label="Outcome"
        data={outcomes.map((value) => ({ value, label: outcomeLabels[value] }))}
        value={filters.outcome}
        onChange={(outcome) => onChange({ outcome })}
      />
      <TimeFilter label="From" value={filters.from} onChange={(from) => onChange({ from })} />
      <TimeFilter label="Until" value={filters.to} onChange={(to) => onChange({ to })} />
      <TextInput
        label="Request id"
        defaultValue={filters.request_id ?? ''}
        onBlur={(event) => onChange({ request_id: event.currentTarget.value })}
        onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
        style={{ flex: '1 1 160px', maxWidth: 320 }}
      />
    </Group>
  )
}

interface Option {
  value: string
  label: string
}

/** An address can have a value that is not offered. */
function withValue(
  options: Option[],
  value: string | undefined,
  nameOf: (value: string) => string,
): Option[] {
  if (value === undefined || options.some((option) => option.value === value)) return options
  return [...options, { value, label: nameOf(value) }]
}

interface ChoiceProps {
  label: string
  data: Option[]
  value: string | undefined
  onChange: (value: string | undefined) => void
}

function Choice({ value, onChange, ...rest }: ChoiceProps) {
  return (
    <Select
      {...rest}
      placeholder="Any"
      clearable
      searchable
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
      style={{ flex: '1 1 160px', maxWidth: 260 }}
    />
  )
}

interface TimeFilterProps {
  label: string
  value: string | undefined
  onChange: (value: string | undefined) => void
}

/** Applied when the field is left: a time that is being typed is not the one that is meant. */
function TimeFilter({ label, value, onChange }: TimeFilterProps) {
  return (
    <TextInput
      key={value ?? ''}
      label={label}
      type="datetime-local"
      defaultValue={formatLocalInput(value)}
      onBlur={(event) => onChange(readLocalInput(event.currentTarget.value))}
      style={{ flex: '1 1 180px', maxWidth: 260 }}
    />
  )
}

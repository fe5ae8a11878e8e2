import { targetTypes } from '../../components/audit-vocabulary.ts'
import { workspaceField } from '../../components/filter-fields.ts'
import type { CompletedField } from '../../components/filter-input.tsx'
import { ScreenFilters } from '../../components/screen-filters.tsx'
import { type AuditFilters, actorTypes, outcomes, readFilters } from './filters.ts'

const values: CompletedField[] = [
  { name: 'action', parameter: 'action', source: 'audit_action', hint: 'Such as key.create' },
  { name: 'actor', parameter: 'actor_id', source: 'audit_actor', idPattern: /^\S{12,}$/, hint: 'Actor' },
  { name: 'by', parameter: 'actor_type', values: actorTypes, hint: 'Kind of actor' },
  { name: 'target', parameter: 'target_type', suggestions: targetTypes, hint: 'Kind of record' },
  {
    name: 'record',
    parameter: 'target_id',
    source: 'audit_record',
    idPattern: /^\S+$/,
    hint: 'Name or id of the record',
  },
  { ...workspaceField, hint: 'Where' },
  { name: 'outcome', parameter: 'outcome', values: outcomes, hint: 'Success or refused' },
  { name: 'request', parameter: 'request_id', hint: 'X-Request-Id' },
  { name: 'id', parameter: 'id', hint: 'Entry ID' },
  { name: 'after', parameter: 'from', isTime: true, source: 'time', hint: 'Start, such as 2h' },
  { name: 'before', parameter: 'to', isTime: true, source: 'time', hint: 'End, such as yesterday' },
]

const fields = { values, text: null }

interface FilterBarProps {
  filters: AuditFilters
  onChange: (filters: AuditFilters) => void
}

export function AuditFilterBar({ filters, onChange }: FilterBarProps) {
  return (
    <ScreenFilters
      label="Search the audit log"
      placeholder="action:key.update actor:Ada after:7d"
      fields={fields}
      filters={{ ...filters }}
      onChange={(next) => onChange(readFilters(next))}
    />
  )
}

import { SegmentedControl, Select } from '@mantine/core'
import { useWorkspace } from '../../app/workspace.tsx'
import { FilterBar } from '../../components/filter-input.tsx'
import { listChips } from '../../components/filter-query.ts'
import { useRecordNames } from '../../components/use-record-names.ts'
import { findProblem, requestFields, workspaceList } from './query.ts'
import {
  defaultPeriod,
  hasOwnRange,
  type Period,
  periods,
  type RequestSearch,
  readSearch,
  statuses,
  withoutRange,
} from './search.ts'

const statusChoices = [...statuses, { value: 'error', label: 'failed or refused' }]

interface FiltersProps {
  search: RequestSearch
  onChange: (search: RequestSearch) => void
}

/** One field for all filters; those that are set are chips. */
export function Filters({ search, onChange }: FiltersProps) {
  const { id: menuWorkspace } = useWorkspace()
  // The workspace of the menu takes precedence.
  const values = requestFields.values.filter((field) => menuWorkspace === null || field !== workspaceList)
  const fields = { ...requestFields, values }
  const { period, ...filters } = search
  const nameOf = useRecordNames(filters, values)
  const change = (added: Readonly<Record<string, string>>) => {
    const problem = findProblem(added)
    if (problem === null) onChange(readSearch({ ...search, ...added }))
    return problem
  }
  const remove = (name: string) => onChange(readSearch({ ...search, [name]: undefined }))
  return (
    <FilterBar
      label="Search requests"
      placeholder='model:claude status:error cost>0.01 after:2h "text in the prompt"'
      fields={fields}
      filters={filters}
      chips={listChips(filters, fields, nameOf)}
      onFilter={change}
      onRemove={remove}
      onClear={() => onChange({ ...(period && { period }) })}
    >
      <SegmentedControl
        size="xs"
        aria-label="Period"
        data={Object.keys(periods)}
        value={hasOwnRange(search) ? '' : (period ?? defaultPeriod)}
        onChange={(next) => {
          onChange({ ...withoutRange(search), period: next as Period })
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
        onChange={(status) => (status === null ? remove('status') : change({ status }))}
      />
    </FilterBar>
  )
}

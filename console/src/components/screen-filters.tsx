import type { ReactNode } from 'react'
import { type CompletedField, FilterBar } from './filter-input.tsx'
import { type FilterFields, type Filters, listChips } from './filter-query.ts'
import { useRecordNames } from './use-record-names.ts'

interface ScreenFiltersProps {
  label: string
  placeholder: string
  fields: FilterFields<CompletedField>
  filters: Filters
  /** The filters that are set now; those that were removed are undefined. */
  onChange: (filters: Filters) => void
  children?: ReactNode
}

/** The filters of a screen that has them in its address. */
export function ScreenFilters({ fields, filters, onChange, ...look }: ScreenFiltersProps) {
  const nameOf = useRecordNames(filters, fields.values)
  const names = [
    ...fields.values.map(({ parameter }) => parameter),
    ...(fields.bounds ?? []).flatMap(({ min, max }) => [min, max]).filter((name) => name !== undefined),
    ...(fields.text === null ? [] : [fields.text]),
  ]
  return (
    <FilterBar
      {...look}
      fields={fields}
      filters={filters}
      chips={listChips(filters, fields, nameOf)}
      onFilter={(added) => {
        onChange({ ...filters, ...added })
        return null
      }}
      onRemove={(name) => onChange({ ...filters, [name]: undefined })}
      onClear={() => onChange({ ...filters, ...Object.fromEntries(names.map((name) => [name, undefined])) })}
    />
  )
}

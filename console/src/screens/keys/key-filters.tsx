import { Switch } from '@mantine/core'
import { writeText } from '../../app/search-params.ts'
import { memberField } from '../../components/filter-fields.ts'
import { ScreenFilters } from '../../components/screen-filters.tsx'
import type { KeysSearch } from './route.ts'

const fields = {
  values: [{ ...memberField, parameter: 'creator_user_id', hint: 'Who created it' }],
  text: 'q',
}

interface KeyFiltersProps {
  filters: KeysSearch
  /** Without the offset: other filters begin at the first page. */
  onChange: (filters: KeysSearch) => void
}

export function KeyFilters({ filters: { q, creator_user_id, disabled = false }, onChange }: KeyFiltersProps) {
  const write = (text = '', creator: string | undefined, showsDisabled: boolean) =>
    onChange({
      ...writeText(text),
      ...(creator !== undefined && { creator_user_id: creator }),
      ...(showsDisabled && { disabled: true }),
    })
  return (
    <ScreenFilters
      label="Search keys"
      placeholder="Name or label, member:Ada"
      fields={fields}
      filters={{ q: q || undefined, creator_user_id }}
      onChange={(next) => write(next.q, next.creator_user_id, disabled)}
    >
      <Switch
        label="Show disabled"
        checked={disabled}
        onChange={({ currentTarget }) => write(q, creator_user_id, currentTarget.checked)}
      />
    </ScreenFilters>
  )
}

import { Fieldset, Select, SimpleGrid } from '@mantine/core'
import type { BuiltinFilter } from './draft.ts'
import { filterActions, readAction } from './filter-action.ts'

const builtins: { slug: BuiltinFilter['slug']; label: string }[] = [
  { slug: 'email', label: 'E-mail addresses' },
  { slug: 'phone', label: 'Phone numbers' },
  { slug: 'credit-card', label: 'Credit card numbers' },
  { slug: 'ssn', label: 'Social security numbers (US)' },
  { slug: 'ip-address', label: 'IP addresses' },
  { slug: 'person-name', label: 'Names of people' },
  { slug: 'address', label: 'Postal addresses' },
  { slug: 'secrets', label: 'Passwords and API keys' },
  { slug: 'regex-prompt-injection', label: 'Prompt injection' },
]

interface BuiltinFiltersProps {
  filters: BuiltinFilter[]
  onChange: (filters: BuiltinFilter[]) => void
}

/** What to do with each kind of content that is recognized without a pattern. */
export function BuiltinFilters({ filters, onChange }: BuiltinFiltersProps) {
  const set = (slug: BuiltinFilter['slug'], value: string | null) => {
    const action = readAction(value)
    const current = filters.find((filter) => filter.slug === slug)
    if (!action) onChange(filters.filter((filter) => filter !== current))
    else if (current) onChange(filters.map((filter) => (filter === current ? { ...filter, action } : filter)))
    else onChange([...filters, { slug, action }])
  }
  return (
    <Fieldset legend="Content to look for">
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {builtins.map(({ slug, label }) => (
          <Select
            key={slug}
            label={label}
            placeholder="Off"
            clearable
            data={filterActions}
            value={filters.find((filter) => filter.slug === slug)?.action ?? null}
            onChange={(value) => set(slug, value)}
          />
        ))}
      </SimpleGrid>
    </Fieldset>
  )
}

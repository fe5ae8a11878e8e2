import { Fieldset, Select, SimpleGrid, Text } from '@mantine/core'
import type { BuiltinFilter } from './draft.ts'
import { filterActions, readAction } from './filter-action.ts'

/** `found`: the share found in public test texts; docs/benchmark.md has the figures. */
const builtins: { slug: BuiltinFilter['slug']; label: string; found: string }[] = [
  { slug: 'email', label: 'E-mail addresses', found: 'Found all of 19.' },
  { slug: 'phone', label: 'Phone numbers', found: 'Found all of 51; tuned on these.' },
  { slug: 'credit-card', label: 'Credit card numbers', found: 'Found all of 65; tuned on these.' },
  { slug: 'ssn', label: 'Social security numbers (US)', found: 'Found all of 7.' },
  { slug: 'ip-address', label: 'IP addresses', found: 'Found all of 6.' },
  { slug: 'person-name', label: 'Names of people', found: 'Finds about 1 in 4.' },
  { slug: 'address', label: 'Postal addresses', found: 'Finds about 1 in 6.' },
  { slug: 'secrets', label: 'Passwords and API keys', found: 'Not measured on public texts.' },
  { slug: 'regex-prompt-injection', label: 'Prompt injection', found: 'Finds about 2 in 5 jailbreaks.' },
]

interface BuiltinFiltersProps {
  filters: BuiltinFilter[]
  onChange: (filters: BuiltinFilter[]) => void
}

/** Edits the action for each kind of content that is recognized without a pattern. */
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
      <Text size="sm" c="dimmed" mb="sm">
        Shares were measured on public test texts in English. Use filters as one layer of protection.
      </Text>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {builtins.map(({ slug, label, found }) => (
          <Select
            key={slug}
            label={label}
            description={found}
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

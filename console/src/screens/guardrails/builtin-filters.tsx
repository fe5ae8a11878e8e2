import { Fieldset, Select, Text } from '@mantine/core'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { findBuiltin, type Side, type Slug, setBuiltin, setScanScope } from './builtin-choice.ts'
import type { BuiltinFilter } from './draft.ts'
import { filterActions, readAction } from './filter-action.ts'

interface Builtin {
  slug: Slug
  label: string
  /** The share found in public test texts; docs/benchmark.md has the figures. */
  found: string
}

const builtins: Builtin[] = [
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

/** The only filter that can be restricted to messages of the user. */
const scopedSlug: Slug = 'regex-prompt-injection'
const scanScopes = [
  { value: 'all_messages', label: 'All messages' },
  { value: 'user_only', label: 'User messages' },
]

interface BuiltinFiltersProps {
  filters: BuiltinFilter[]
  onChange: (filters: BuiltinFilter[]) => void
}

/** Edits the action for each kind of content that is recognized without a pattern. */
export function BuiltinFilters({ filters, onChange }: BuiltinFiltersProps) {
  const actionOf = (side: Side, noun: string): Column<Builtin> => ({
    header: noun,
    render: ({ slug, label }) => (
      <Select
        size="xs"
        miw={90}
        aria-label={`${label} in ${noun.toLowerCase()}`}
        placeholder="Off"
        clearable
        data={filterActions}
        value={findBuiltin(filters, slug, side)?.action ?? null}
        onChange={(value) => onChange(setBuiltin(filters, slug, side, readAction(value) ?? null))}
      />
    ),
  })
  return (
    <Fieldset legend="Built-in filters">
      <Text size="sm" c="dimmed" mb="sm">
        Flag reports a match, redact replaces it, block rejects the request. Detection rates are from public
        test texts in English: use filters as one layer of protection.
      </Text>
      <DataTable
        rows={builtins}
        keyOf={({ slug }) => slug}
        minWidth={420}
        columns={[
          {
            header: 'Content',
            render: ({ slug, label, found }) => (
              <>
                <Text size="sm">{label}</Text>
                <Text size="xs" c="dimmed">
                  {found}
                </Text>
                {slug === scopedSlug && <ScanScope filters={filters} onChange={onChange} />}
              </>
            ),
          },
          actionOf('input', 'Prompts'),
          actionOf('output', 'Replies'),
        ]}
      />
    </Fieldset>
  )
}

function ScanScope({ filters, onChange }: BuiltinFiltersProps) {
  const filter = findBuiltin(filters, scopedSlug, 'input')
  if (!filter) return null
  return (
    <Select
      size="xs"
      mt={4}
      maw={160}
      aria-label="Messages checked for prompt injection"
      allowDeselect={false}
      data={scanScopes}
      value={filter.scan_scope ?? 'all_messages'}
      onChange={(value) =>
        onChange(setScanScope(filters, scopedSlug, value === 'user_only' ? value : 'all_messages'))
      }
    />
  )
}

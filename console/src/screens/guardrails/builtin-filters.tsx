import { Checkbox, Fieldset, Group, NumberInput, Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { describeAccuracy } from './accuracy-text.ts'
import {
  findBuiltin,
  type Side,
  type Slug,
  setBuiltin,
  setReversible,
  setScanScope,
  setThreshold,
} from './builtin-choice.ts'
import type { BuiltinFilter } from './draft.ts'
import { filterActions, readAction } from './filter-action.ts'

interface Builtin {
  slug: Slug
  label: string
}

const builtins: Builtin[] = [
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

/** The only filter with a score, and the only one that can be restricted to messages of the user. */
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
  const measured = useQuery(api.queryOptions('get', '/guardrails/filters'))
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
        Flag reports a match, redact replaces it, block rejects the request. With Restore in replies, models
        receive placeholders, and clients the original values. Detection rates are from public test texts in
        English: use filters as one layer of protection.
      </Text>
      <DataTable
        rows={builtins}
        keyOf={({ slug }) => slug}
        minWidth={420}
        columns={[
          {
            header: 'Content',
            render: ({ slug, label }) => (
              <>
                <Text size="sm">{label}</Text>
                <Text size="xs" c="dimmed">
                  {describeAccuracy(measured.data?.data.find((filter) => filter.slug === slug))}
                </Text>
                {slug === scopedSlug ? (
                  <InjectionSettings filters={filters} onChange={onChange} />
                ) : (
                  <Reversible filters={filters} onChange={onChange} slug={slug} label={label} />
                )}
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

function Reversible({
  filters,
  onChange,
  slug,
  label,
}: BuiltinFiltersProps & Pick<Builtin, 'slug' | 'label'>) {
  const filter = findBuiltin(filters, slug, 'input')
  if (filter?.action !== 'redact') return null
  return (
    <Checkbox
      size="xs"
      mt={4}
      label="Restore in replies"
      aria-label={`Restore in replies: ${label}`}
      checked={filter.reversible ?? false}
      onChange={(event) => onChange(setReversible(filters, slug, event.currentTarget.checked))}
    />
  )
}

function InjectionSettings({ filters, onChange }: BuiltinFiltersProps) {
  const filter = findBuiltin(filters, scopedSlug, 'input') ?? findBuiltin(filters, scopedSlug, 'output')
  if (!filter) return null
  return (
    <Group gap="xs" mt={4}>
      {filter.scope !== 'output' && (
        <Select
          size="xs"
          maw={160}
          aria-label="Messages checked for prompt injection"
          allowDeselect={false}
          data={scanScopes}
          value={filter.scan_scope ?? 'all_messages'}
          onChange={(value) =>
            onChange(setScanScope(filters, scopedSlug, value === 'user_only' ? value : 'all_messages'))
          }
        />
      )}
      <NumberInput
        size="xs"
        maw={110}
        aria-label="Score from which text counts as an injection"
        placeholder="Score 0.5"
        min={0.05}
        max={1}
        step={0.05}
        decimalScale={2}
        value={filter.threshold ?? ''}
        onChange={(value) =>
          onChange(setThreshold(filters, scopedSlug, typeof value === 'number' ? value : null))
        }
      />
    </Group>
  )
}

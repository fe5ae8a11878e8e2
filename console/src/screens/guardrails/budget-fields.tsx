import { Fieldset, Select, SimpleGrid, Switch } from '@mantine/core'
import { MoneyField } from '../../components/money-field.tsx'
import type { DraftFields } from './draft.ts'

type Interval = NonNullable<DraftFields['reset_interval']>

const intervals: { value: Interval; label: string }[] = [
  { value: 'daily', label: 'Every day' },
  { value: 'weekly', label: 'Every week, on Monday' },
  { value: 'monthly', label: 'Every month' },
]
const never = 'never'

interface BudgetFieldsProps {
  fields: DraftFields
  onChange: (changes: Partial<DraftFields>) => void
}

/** The budget of each key, or of all keys of each member. */
export function BudgetFields({ fields, onChange }: BudgetFieldsProps) {
  const { limit_usd: limit, reset_interval: interval } = fields
  return (
    <Fieldset legend="Budget">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <MoneyField
          label="Spending limit"
          description="For each key and each member"
          placeholder="No limit"
          min={0}
          defaultValue={limit}
          onChange={(next) =>
            onChange({ limit_usd: next || null, reset_interval: next ? (interval ?? 'monthly') : null })
          }
        />
        <Select
          label="Resets"
          description="At midnight UTC"
          disabled={limit === null}
          allowDeselect={false}
          data={[...intervals, { value: never, label: 'Never' }]}
          value={limit === null ? 'monthly' : (interval ?? never)}
          onChange={(value) =>
            onChange({ reset_interval: intervals.find((known) => known.value === value)?.value ?? null })
          }
        />
      </SimpleGrid>
      <Switch
        mt="sm"
        label="Count requests with your own provider keys, at list prices"
        disabled={limit === null}
        checked={fields.include_byok_in_budgets}
        onChange={(event) => onChange({ include_byok_in_budgets: event.currentTarget.checked })}
      />
    </Fieldset>
  )
}

import { Group, Select } from '@mantine/core'
import type { Schemas } from '../api/client.ts'
import { MoneyField } from './money-field.tsx'

type LimitReset = NonNullable<Schemas['ApiKey']['limit_reset']>

/** A limit on spending, with the names that the API has. */
export interface SpendingLimit {
  limit: number | null
  limit_reset: LimitReset | null
}

const resetOptions = [
  { value: 'never', label: 'never (lifetime limit)' },
  { value: 'daily', label: 'every day' },
  { value: 'weekly', label: 'every week, on Monday' },
  { value: 'monthly', label: 'every month' },
]

interface LimitFieldsProps {
  value: SpendingLimit
  onChange: (changes: Partial<SpendingLimit>) => void
}

/** An amount, and when it starts again. */
export function LimitFields({ value, onChange }: LimitFieldsProps) {
  return (
    <Group grow align="flex-start" preventGrowOverflow={false}>
      <MoneyField
        label="Spending limit"
        description="Leave empty for no limit"
        min={0}
        defaultValue={value.limit}
        onChange={(limit) => onChange({ limit })}
      />
      <Select
        label="Resets"
        description="At midnight UTC"
        data={resetOptions}
        allowDeselect={false}
        disabled={value.limit === null}
        value={value.limit_reset ?? 'never'}
        onChange={(reset) => onChange({ limit_reset: parseReset(reset) })}
      />
    </Group>
  )
}

function parseReset(value: string | null): LimitReset | null {
  return value === 'daily' || value === 'weekly' || value === 'monthly' ? value : null
}

/** Converts the fields for the API: only a limit can have a reset. */
export function toSpendingLimit({ limit, limit_reset }: SpendingLimit): SpendingLimit {
  return { limit, limit_reset: limit === null ? null : limit_reset }
}

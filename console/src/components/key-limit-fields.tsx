import { Group, Select, Switch } from '@mantine/core'
import type { Schemas } from '../api/client.ts'
import { MoneyField } from './money-field.tsx'

type LimitReset = NonNullable<Schemas['ApiKey']['limit_reset']>

/** The limit of a key, with the names that the API has. */
export interface KeyLimit {
  limit: number | null
  limit_reset: LimitReset | null
  include_byok_in_limit: boolean
}

const resetOptions = [
  { value: 'never', label: 'never: it is a total' },
  { value: 'daily', label: 'every day' },
  { value: 'weekly', label: 'every week, on Monday' },
  { value: 'monthly', label: 'every month' },
]

interface KeyLimitFieldsProps {
  value: KeyLimit
  onChange: (changes: Partial<KeyLimit>) => void
}

/** How much a key may spend. */
export function KeyLimitFields({ value, onChange }: KeyLimitFieldsProps) {
  return (
    <>
      <Group grow align="flex-start" preventGrowOverflow={false}>
        <MoneyField
          label="Spending limit"
          description="Empty for no limit"
          min={0}
          defaultValue={value.limit}
          onChange={(limit) => onChange({ limit })}
        />
        <Select
          label="The limit starts again"
          description="At midnight UTC"
          data={resetOptions}
          allowDeselect={false}
          disabled={value.limit === null}
          value={value.limit_reset ?? 'never'}
          onChange={(reset) => onChange({ limit_reset: parseReset(reset) })}
        />
      </Group>
      <Switch
        label="Count requests with your own provider keys, at list prices"
        checked={value.include_byok_in_limit}
        onChange={(event) => onChange({ include_byok_in_limit: event.currentTarget.checked })}
      />
    </>
  )
}

function parseReset(value: string | null): LimitReset | null {
  return value === 'daily' || value === 'weekly' || value === 'monthly' ? value : null
}

/** What is sent: a key without a limit has none that starts again. */
export function toKeyLimit({ limit, limit_reset, include_byok_in_limit }: KeyLimit): KeyLimit {
  return { limit, limit_reset: limit === null ? null : limit_reset, include_byok_in_limit }
}

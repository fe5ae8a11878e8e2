import { Group, NumberInput, Select, Switch } from '@mantine/core'
import { type LimitReset, parseReset, resetOptions } from './key-fields.ts'

export interface Limit {
  limit: number | null
  limit_reset: LimitReset | null
  include_byok_in_limit: boolean
}

interface LimitFieldsProps {
  value: Limit
  onChange: (changes: Partial<Limit>) => void
}

/** How much a key may spend. */
export function LimitFields({ value, onChange }: LimitFieldsProps) {
  return (
    <>
      <Group grow align="flex-start" preventGrowOverflow={false}>
        <NumberInput
          label="Spending limit"
          description="Empty for no limit"
          prefix="$"
          min={0}
          decimalScale={9}
          thousandSeparator=","
          value={value.limit ?? ''}
          onChange={(limit) => onChange({ limit: typeof limit === 'number' ? limit : null })}
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

import { Switch } from '@mantine/core'
import { LimitFields, type SpendingLimit, toSpendingLimit } from './limit-fields.tsx'

/** The limit of a key, with the names that the API has. */
export interface KeyLimit extends SpendingLimit {
  include_byok_in_limit: boolean
}

interface KeyLimitFieldsProps {
  value: KeyLimit
  onChange: (changes: Partial<KeyLimit>) => void
}

/** Fields for the spending limit of a key. */
export function KeyLimitFields({ value, onChange }: KeyLimitFieldsProps) {
  return (
    <>
      <LimitFields value={value} onChange={onChange} />
      <Switch
        label="Count requests with your own provider keys, at list prices"
        checked={value.include_byok_in_limit}
        onChange={(event) => onChange({ include_byok_in_limit: event.currentTarget.checked })}
      />
    </>
  )
}

export function toKeyLimit({ include_byok_in_limit, ...limit }: KeyLimit): KeyLimit {
  return { ...toSpendingLimit(limit), include_byok_in_limit }
}

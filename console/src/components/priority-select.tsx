import { Select } from '@mantine/core'
import type { Schemas } from '../api/client.ts'

export type Priority = Schemas['ApiKey']['priority']

const options: { value: Priority; label: string }[] = [
  { value: 'low', label: 'Low' },
  { value: 'normal', label: 'Normal' },
  { value: 'high', label: 'High' },
]

interface PrioritySelectProps {
  value: Priority
  onChange: (priority: Priority) => void
}

/** Chooses who passes first where the rate of a provider is nearly used. */
export function PrioritySelect({ value, onChange }: PrioritySelectProps) {
  return (
    <Select
      label="Priority"
      description="When a provider's rate limit is nearly used"
      allowDeselect={false}
      data={options}
      value={value}
      onChange={(chosen) => {
        const option = options.find((known) => known.value === chosen)
        if (option) onChange(option.value)
      }}
    />
  )
}

interface MaxPrioritySelectProps {
  /** Null: the priority of the key. */
  value: Priority | null
  onChange: (priority: Priority | null) => void
}

/** Chooses how high a priority requests may ask for. */
export function MaxPrioritySelect({ value, onChange }: MaxPrioritySelectProps) {
  return (
    <Select
      label="Highest priority"
      description="What a request may use"
      placeholder="Same as priority"
      clearable
      data={options}
      value={value}
      onChange={(chosen) => onChange(options.find((known) => known.value === chosen)?.value ?? null)}
    />
  )
}

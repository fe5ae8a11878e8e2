import { Switch, Text } from '@mantine/core'
import { type PrivacyRule, retentionSwitches, trainingSwitches } from './privacy-rules.ts'

interface PrivacySwitchesProps {
  /** Whether each rule restricts. */
  value: Record<PrivacyRule, boolean>
  isDisabled?: boolean
  onChange: (rule: PrivacyRule, restricts: boolean) => void
}

/** Switches for what providers may do with prompts. */
export function PrivacySwitches({ value, isDisabled = false, onChange }: PrivacySwitchesProps) {
  const switchOf = ([name, label]: readonly [PrivacyRule, string]) => (
    <Switch
      key={name}
      label={label}
      disabled={isDisabled}
      checked={value[name]}
      onChange={(event) => onChange(name, event.currentTarget.checked)}
    />
  )
  return (
    <>
      {trainingSwitches.map(switchOf)}
      <Text size="sm" fw={700}>
        Only endpoints with zero data retention
      </Text>
      {retentionSwitches.map(switchOf)}
    </>
  )
}

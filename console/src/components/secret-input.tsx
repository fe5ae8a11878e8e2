import { Button, Group, PasswordInput } from '@mantine/core'

interface SecretInputProps {
  label: string
  hint?: string | undefined
  isRequired?: boolean
  /** The masked form of the stored secret. Empty if there is none. */
  stored?: string
  /** Null: the stored one is removed. */
  value: string | null
  isDisabled?: boolean
  /** Called with null only if the secret is not required. */
  onChange: (value: string | null) => void
}

/** A secret that can be written and not read. */
export function SecretInput(props: SecretInputProps) {
  const { label, hint, isRequired = false, stored = '', value, isDisabled = false, onChange } = props
  const isStored = stored !== ''
  const isRemoved = isStored && value === null
  const state = isStored ? `Stored as ${stored}. Leave it empty to keep it.` : ''
  const description = [hint, isRemoved ? 'Will be removed when you save.' : state].filter(Boolean).join(' ')
  return (
    <Group align="flex-end" gap="xs">
      <PasswordInput
        style={{ flex: 1, minWidth: 220 }}
        label={label}
        description={description}
        required={isRequired && !isStored}
        disabled={isDisabled}
        autoComplete="new-password"
        maxLength={8192}
        value={value ?? ''}
        onChange={(event) => onChange(event.currentTarget.value)}
        visibilityToggleButtonProps={{ 'aria-label': `Show ${label}` }}
      />
      {isStored && !isRequired && !isDisabled && (
        <Button
          variant="default"
          aria-label={isRemoved ? `Keep ${label}` : `Remove ${label}`}
          onClick={() => onChange(isRemoved ? '' : null)}
        >
          {isRemoved ? 'Keep' : 'Remove'}
        </Button>
      )}
    </Group>
  )
}

import { Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { randomId } from '@mantine/hooks'
import type { HeaderDraft } from './draft.ts'

interface HeaderFieldsProps {
  headers: HeaderDraft[]
  isDisabled?: boolean
  onChange: (headers: HeaderDraft[]) => void
}

/** The API takes no more. */
const maxHeaders = 50

/** Custom headers. Their values are secret. */
export function HeaderFields({ headers, isDisabled = false, onChange }: HeaderFieldsProps) {
  const update = (key: string, changes: Partial<HeaderDraft>) =>
    onChange(headers.map((header) => (header.key === key ? { ...header, ...changes } : header)))
  return (
    <Stack gap="xs">
      <Text fw={700} size="sm">
        Custom headers
      </Text>
      {headers.length === 0 && (
        <Text size="sm" c="dimmed">
          None. Add one if the destination or a proxy requires it.
        </Text>
      )}
      {headers.map((header, index) => (
        <Group key={header.key} gap="xs" align="flex-end">
          <TextInput
            label={`Name of header ${index + 1}`}
            style={{ flex: '1 1 150px' }}
            disabled={isDisabled || header.isStored}
            maxLength={128}
            value={header.name}
            onChange={(event) => update(header.key, { name: event.currentTarget.value })}
          />
          <PasswordInput
            label={`Value of header ${index + 1}`}
            style={{ flex: '1 1 180px' }}
            disabled={isDisabled}
            placeholder={header.isStored ? 'Stored. Empty to keep it.' : ''}
            autoComplete="new-password"
            maxLength={8192}
            value={header.value}
            onChange={(event) => update(header.key, { value: event.currentTarget.value })}
            visibilityToggleButtonProps={{ 'aria-label': `Show the value of header ${index + 1}` }}
          />
          {!isDisabled && (
            <Button
              variant="default"
              aria-label={`Remove header ${index + 1}`}
              onClick={() => onChange(headers.filter(({ key }) => key !== header.key))}
            >
              Remove
            </Button>
          )}
        </Group>
      ))}
      {!isDisabled && headers.length < maxHeaders && (
        <Group>
          <Button
            size="xs"
            variant="default"
            onClick={() => onChange([...headers, { key: randomId(), name: '', value: '', isStored: false }])}
          >
            Add a header
          </Button>
        </Group>
      )}
    </Stack>
  )
}

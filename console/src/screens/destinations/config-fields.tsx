import { Code, Select, Stack, Text } from '@mantine/core'
import { SecretInput } from '../../components/secret-input.tsx'
import { TextField } from '../../components/text-field.tsx'
import { type DestinationDraft, storedText } from './draft.ts'
import { type ConfigField, type Destination, type DestinationType, docsOf, kindOf } from './kinds.ts'

interface ConfigFieldsProps {
  type: DestinationType
  config: DestinationDraft['config']
  /** The stored configuration, with masked secrets; absent for a new destination. */
  stored?: Destination['config']
  isDisabled?: boolean
  onChange: (config: DestinationDraft['config']) => void
}

/** The settings of a type of destination. */
export function ConfigFields({ type, config, stored = {}, isDisabled = false, onChange }: ConfigFieldsProps) {
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        Where to find these values: <Code>{docsOf(type)}</Code> in the documentation.
      </Text>
      {Object.entries(kindOf(type).fields).map(([name, field]) => (
        <ConfigInput
          key={name}
          field={field}
          value={config[name] === undefined ? '' : config[name]}
          stored={storedText(stored, name)}
          isDisabled={isDisabled}
          onChange={(value) => onChange({ ...config, [name]: value })}
        />
      ))}
    </Stack>
  )
}

interface ConfigInputProps {
  field: ConfigField
  value: string | null
  stored: string
  isDisabled: boolean
  onChange: (value: string | null) => void
}

function ConfigInput({ field, value, stored, isDisabled, onChange }: ConfigInputProps) {
  if (field.isSecret)
    return (
      <SecretInput
        label={field.label}
        hint={field.hint}
        isRequired={field.isRequired === true}
        stored={stored}
        value={value}
        isDisabled={isDisabled}
        onChange={onChange}
      />
    )
  const common = {
    label: field.label,
    description: field.hint,
    required: field.isRequired === true,
    disabled: isDisabled,
    placeholder: field.fallback,
  }
  if (field.options)
    return (
      <Select
        {...common}
        data={field.options}
        clearable
        value={value || null}
        onChange={(option) => onChange(option ?? '')}
      />
    )
  return <TextField {...common} autoComplete="off" maxLength={2048} value={value ?? ''} onChange={onChange} />
}

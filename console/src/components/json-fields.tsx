import { Textarea } from '@mantine/core'

interface JsonFieldsProps {
  value: string
  placeholder: string
  onChange: (text: string) => void
}

/** Fields that the form has no input for. The server says which are known. */
export function JsonFields({ value, placeholder, onChange }: JsonFieldsProps) {
  const isValid = parseJsonObject(value) !== null
  return (
    <Textarea
      label="Other fields, as JSON"
      description="The names of headgate.yaml"
      placeholder={placeholder}
      autosize
      minRows={2}
      maxRows={12}
      value={value}
      error={isValid ? null : 'This is not a JSON object.'}
      styles={{ input: { fontFamily: 'monospace' } }}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}

/** Empty text is an empty object; null if it is not an object. */
export function parseJsonObject(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

import { TextInput, type TextInputProps } from '@mantine/core'

interface TextFieldProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  value: string
  onChange: (value: string) => void
}

/** An input of one line. */
export function TextField({ onChange, ...rest }: TextFieldProps) {
  return <TextInput {...rest} onChange={(event) => onChange(event.currentTarget.value)} />
}

interface NameFieldProps extends Pick<TextFieldProps, 'value' | 'onChange' | 'description'> {
  maxLength?: number
}

/** The name of what a form makes or changes: its first field. */
export function NameField({ maxLength = 100, ...rest }: NameFieldProps) {
  return <TextField label="Name" required data-autofocus maxLength={maxLength} {...rest} />
}

import { TagsInput } from '@mantine/core'

interface PrefixesFieldProps {
  value: string[]
  onChange: (prefixes: string[]) => void
}

/** Which actions are sent. */
export function PrefixesField(props: PrefixesFieldProps) {
  return (
    <TagsInput
      {...props}
      label="Only actions that begin with"
      description="Such as key. or member.; press Enter after each. None: every action."
      maxTags={50}
      acceptValueOnBlur
      clearable
    />
  )
}

/** As the API wants it. */
export function toPrefixes(prefixes: string[]): string[] | null {
  return prefixes.length === 0 ? null : prefixes
}

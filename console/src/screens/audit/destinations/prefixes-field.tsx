import { TagsInput } from '@mantine/core'

interface PrefixesFieldProps {
  value: string[]
  onChange: (prefixes: string[]) => void
}

/** Edits the prefixes of actions that are sent. */
export function PrefixesField(props: PrefixesFieldProps) {
  return (
    <TagsInput
      {...props}
      label="Only actions that begin with"
      description="For example key. or member. Leave empty for every action."
      maxTags={50}
      acceptValueOnBlur
      clearable
    />
  )
}

/** Converts to the form of the API. */
export function toPrefixes(prefixes: string[]): string[] | null {
  return prefixes.length === 0 ? null : prefixes
}

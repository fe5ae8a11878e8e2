import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { EmptyState } from './empty-state.tsx'
import { SearchIcon } from './icons.tsx'

const debounceMs = 300

interface SearchFieldProps {
  label: string
  /** The text in the address. */
  value: string
  onChange: (text: string) => void
}

/** Restricts a list to what contains a text; the server searches. */
export function SearchField({ label, value, onChange }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const search = useDebouncedCallback((next: string) => onChange(next.trim()), debounceMs)
  return (
    <TextInput
      type="search"
      size="xs"
      w="100%"
      maw={320}
      maxLength={200}
      aria-label={label}
      placeholder={label}
      leftSection={<SearchIcon />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        search(event.currentTarget.value)
      }}
    />
  )
}

/** Replaces a list in which a search found nothing. */
export function NothingFound({ text }: { text: string }) {
  return (
    <EmptyState title="Nothing found">
      {text === ''
        ? 'Remove a filter.'
        : `Nothing here contains “${text}”. Try a shorter text, or remove a filter.`}
    </EmptyState>
  )
}

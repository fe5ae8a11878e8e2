import { MultiSelect } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { type Choice, debounceMs } from './remote-select.tsx'

interface RemoteMultiSelectProps {
  label: string
  description?: string | undefined
  value: string[]
  disabled?: boolean
  onChange: (values: string[]) => void
  nothingFound: string
  /** Results of the server for the last searched text, which is empty at first. */
  choices: Choice[]
  onSearch: (text: string) => void
  /** Choices for values that the search may not find. */
  known?: Choice[]
}

/** Chooses several of more things than a page of the API has: the server searches as somebody types. */
export function RemoteMultiSelect(props: RemoteMultiSelectProps) {
  const { value, onChange, nothingFound, choices, onSearch, known = [], ...texts } = props
  const search = useDebouncedCallback((text: string) => onSearch(text.trim()), debounceMs)
  const [chosen, setChosen] = useState<Choice[]>([])
  const isFound = (id: string) => choices.some((choice) => choice.value === id)
  const unlisted = value
    .filter((id) => !isFound(id))
    .map((id) => [...chosen, ...known].find((choice) => choice.value === id) ?? { value: id, label: id })
  return (
    <MultiSelect
      {...texts}
      data={[...choices, ...unlisted]}
      value={value}
      onChange={(ids) => {
        setChosen([...choices, ...unlisted].filter((choice) => ids.includes(choice.value)))
        onChange(ids)
      }}
      searchable
      onSearchChange={search}
      filter={({ options }) => options}
      hidePickedOptions
      clearable
      nothingFoundMessage={nothingFound}
    />
  )
}

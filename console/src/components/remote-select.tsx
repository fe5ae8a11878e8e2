import { Select, type SelectProps } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'

export const debounceMs = 200

export interface Choice {
  value: string
  label: string
}

interface RemoteSelectProps
  extends Pick<
    SelectProps,
    | 'description'
    | 'placeholder'
    | 'size'
    | 'labelProps'
    | 'leftSection'
    | 'clearable'
    | 'allowDeselect'
    | 'comboboxProps'
  > {
  label: string
  value: string | null
  /** The label of a value that the server does not find for the text. */
  valueLabel: string
  onChange: (value: string | null) => void
  nothingFound: string
  /** Results of the server for the last searched text, which is empty at first. */
  choices: Choice[]
  onSearch: (text: string) => void
}

/** Chooses one of more things than a page of the API has: the server searches as somebody types. */
export function RemoteSelect(props: RemoteSelectProps) {
  const { value, valueLabel, nothingFound, choices, onSearch, ...rest } = props
  const search = useDebouncedCallback((text: string) => onSearch(text.trim()), debounceMs)
  const found = choices.find((choice) => choice.value === value)
  const chosen = found ?? (value === null ? null : { value, label: valueLabel })
  return (
    <Select
      {...rest}
      data={chosen && !found ? [chosen, ...choices] : choices}
      value={value}
      searchable
      // The field has the label of the value until somebody types.
      onSearchChange={(text) => search(text === chosen?.label ? '' : text)}
      filter={({ options }) => options}
      nothingFoundMessage={nothingFound}
    />
  )
}

import { Autocomplete, Group, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../api/client.ts'
import { formatContext } from '../format/number.ts'
import { formatPerMillion } from '../format/price.ts'

const shownModels = 30

interface ModelPickerProps {
  label: string
  value: string
  onChange: (model: string) => void
}

/** Finds a model by name. Any other reference, such as a preset or a model with a suffix, can be typed. */
export function ModelPicker({ label, value, onChange }: ModelPickerProps) {
  const [typed, setTyped] = useState<string | null>(null)
  const [search] = useDebouncedValue(typed ?? '', 200)
  const query = useQuery({
    ...api.queryOptions('get', '/models', {
      params: { query: { limit: shownModels, ...(search && { q: search }) } },
    }),
    placeholderData: keepPreviousData,
  })
  const models = new Map(modelsOf(query.data).map((model) => [model.id, model]))
  const commit = (model: string) => {
    setTyped(null)
    if (model.trim() && model !== value) onChange(model.trim())
  }
  return (
    <Autocomplete
      aria-label={label}
      placeholder="Search models"
      value={typed ?? value}
      data={[...models.keys()]}
      filter={({ options }) => options}
      maxDropdownHeight={320}
      comboboxProps={{ width: 'max-content', position: 'bottom-start' }}
      onFocus={(event) => event.currentTarget.select()}
      onChange={setTyped}
      onOptionSubmit={commit}
      onBlur={() => typed !== null && commit(typed)}
      renderOption={({ option }) => <ModelOption id={option.value} model={models.get(option.value)} />}
      style={{ flex: 1, minWidth: 0 }}
    />
  )
}

function ModelOption({ id, model }: { id: string; model: Schemas['Model'] | undefined }) {
  return (
    <Group justify="space-between" gap="lg" wrap="nowrap" w="100%">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {id}
      </Text>
      {model && (
        <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
          {formatPerMillion(model.pricing.prompt)} in · {formatPerMillion(model.pricing.completion)} out
          {model.context_length !== null && ` · ${formatContext(model.context_length)}`}
        </Text>
      )}
    </Group>
  )
}

/** The schema leaves it open, because the list is also offered as a feed. */
export function modelsOf(reply: unknown): Schemas['Model'][] {
  return (reply as Schemas['CatalogueResponse'] | undefined)?.data ?? []
}

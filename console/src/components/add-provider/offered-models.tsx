import { Checkbox, Group, Table, Text, TextInput, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'
import { formatCount, formatPlural } from '../../format/number.ts'
import { isPrice, type ModelDraft, maxChosen } from './server-draft.ts'

/** Rows beyond these are found with the search. */
const maxRows = 50

interface OfferedModelsProps {
  models: ModelDraft[]
  onChange: (models: ModelDraft[]) => void
}

/** The models of a server's own list, to choose and to price. */
export function OfferedModels({ models, onChange }: OfferedModelsProps) {
  const [text, setText] = useState('')
  if (models.length === 0) {
    return (
      <Text size="sm" role="status">
        The server lists no models. You can add them later on the Models screen.
      </Text>
    )
  }
  const found = models.filter(({ model }) => model.toLowerCase().includes(text.trim().toLowerCase()))
  const shown = found.slice(0, maxRows)
  const chosen = models.filter(({ isChosen }) => isChosen).length
  const areAllChosen = shown.length > 0 && shown.every(({ isChosen }) => isChosen)
  const set = (name: string, changes: Partial<ModelDraft>) =>
    onChange(models.map((model) => (model.model === name ? { ...model, ...changes } : model)))
  const chooseShown = (isChosen: boolean) =>
    onChange(models.map((model) => (shown.includes(model) ? { ...model, isChosen } : model)))
  return (
    <>
      <Group justify="space-between" align="flex-end">
        <Text size="sm" role="status" {...(chosen > maxChosen && { c: 'red' })}>
          {chosen > maxChosen
            ? `At most ${maxChosen} models can be added at once.`
            : `The server lists ${formatPlural(models.length, 'model')}.`}
        </Text>
        {models.length > 8 && (
          <TextInput
            size="xs"
            aria-label="Search models"
            placeholder="Search models"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Group>
      <Table.ScrollContainer minWidth={320}>
        <Table verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={36}>
                <Checkbox
                  size="xs"
                  aria-label="Select all models"
                  checked={areAllChosen}
                  indeterminate={!areAllChosen && shown.some(({ isChosen }) => isChosen)}
                  onChange={(event) => chooseShown(event.currentTarget.checked)}
                />
              </Table.Th>
              <Table.Th>Model</Table.Th>
              <Table.Th w={130}>
                <PriceHeader direction="Input" />
              </Table.Th>
              <Table.Th w={130}>
                <PriceHeader direction="Output" />
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((model) => (
              <ModelRow key={model.model} model={model} onChange={(changes) => set(model.model, changes)} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {found.length > maxRows && (
        <Text size="xs" c="dimmed">
          The first {maxRows} of {formatCount(found.length)}. Search for the others.
        </Text>
      )}
    </>
  )
}

function PriceHeader({ direction }: { direction: string }) {
  return (
    <>
      {direction}, <abbr title="Dollars per million tokens">$ / M</abbr>
      <VisuallyHidden> tokens</VisuallyHidden>
    </>
  )
}

interface ModelRowProps {
  model: ModelDraft
  onChange: (changes: Partial<ModelDraft>) => void
}

function ModelRow({ model: { model, isChosen, input, output }, onChange }: ModelRowProps) {
  return (
    <Table.Tr>
      <Table.Td>
        <Checkbox
          size="xs"
          aria-label={model}
          checked={isChosen}
          onChange={(event) => onChange({ isChosen: event.currentTarget.checked })}
        />
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{model}</Table.Td>
      <Table.Td>
        <PriceInput
          label={`Input price of ${model}`}
          value={input}
          onChange={(text) => onChange({ input: text })}
        />
      </Table.Td>
      <Table.Td>
        <PriceInput
          label={`Output price of ${model}`}
          value={output}
          onChange={(text) => onChange({ output: text })}
        />
      </Table.Td>
    </Table.Tr>
  )
}

interface PriceInputProps {
  label: string
  value: string
  onChange: (text: string) => void
}

/** An empty price is free of charge. */
function PriceInput({ label, value, onChange }: PriceInputProps) {
  return (
    <TextInput
      size="xs"
      aria-label={label}
      placeholder="free"
      inputMode="decimal"
      value={value}
      maxLength={30}
      error={!isPrice(value) && 'Such as 2.50'}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}

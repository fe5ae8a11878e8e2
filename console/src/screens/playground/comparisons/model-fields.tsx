import { ActionIcon, Button, Group } from '@mantine/core'
import { ModelPicker } from '../../../components/model-picker.tsx'
import { maxModels } from './matrix.ts'

interface ModelFieldsProps {
  models: readonly string[]
  isDisabled: boolean
  onChange: (models: string[]) => void
}

/** Adds a model to a comparison. */
export function ModelFields({ models, isDisabled, onChange }: ModelFieldsProps) {
  return (
    <Button
      size="xs"
      variant="default"
      disabled={isDisabled || models.length >= maxModels}
      onClick={() => onChange([...models, models.at(-1) ?? ''])}
    >
      Add model
    </Button>
  )
}

/** Chooses the model of a column. */
export function ModelHeader({ models, model, isDisabled, onChange }: ModelFieldsProps & { model: number }) {
  const name = models[model] ?? ''
  if (isDisabled) return name
  return (
    <Group gap={4} wrap="nowrap">
      <ModelPicker
        label={`Model ${model + 1}`}
        value={name}
        onChange={(next) => onChange(models.with(model, next))}
      />
      {models.length > 1 && (
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={`Remove model ${model + 1}`}
          onClick={() => onChange(models.toSpliced(model, 1))}
        >
          ✕
        </ActionIcon>
      )}
    </Group>
  )
}

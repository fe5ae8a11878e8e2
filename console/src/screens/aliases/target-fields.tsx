import { Button, CloseButton, Fieldset, Group, NumberInput, Stack, Text } from '@mantine/core'
import { ModelPicker } from '../../components/model-picker.tsx'
import { TextField } from '../../components/text-field.tsx'
import { newTarget, type TargetDraft } from './alias-draft.ts'
import { describeShares } from './shares.ts'

const maxWeight = 10_000
const maxTargets = 20

interface TargetFieldsProps {
  targets: TargetDraft[]
  onChange: (targets: TargetDraft[]) => void
}

/** Models and their shares of the requests. */
export function TargetFields({ targets, onChange }: TargetFieldsProps) {
  const shares = describeShares(targets.map(({ weight }) => weight ?? 0))
  const set = (row: string, changes: Partial<TargetDraft>) =>
    onChange(targets.map((target) => (target.row === row ? { ...target, ...changes } : target)))
  return (
    <Fieldset legend="Models by weight">
      <Stack gap="xs">
        {targets.map((target, at) => (
          <Group key={target.row} gap="xs" align="center">
            <Group style={{ flex: '3 1 180px' }}>
              <ModelPicker
                label={`Model ${at + 1}`}
                value={target.model}
                onChange={(model) => set(target.row, { model })}
              />
            </Group>
            <NumberInput
              aria-label={`Weight ${at + 1}`}
              placeholder="Weight"
              style={{ flex: '1 1 70px' }}
              min={0}
              max={maxWeight}
              clampBehavior="strict"
              allowDecimal={false}
              allowNegative={false}
              value={target.weight ?? ''}
              onChange={(value) => set(target.row, { weight: typeof value === 'number' ? value : null })}
            />
            <TextField
              aria-label={`Tag ${at + 1}`}
              placeholder="arm=a"
              style={{ flex: '1 1 90px' }}
              value={target.tag}
              onChange={(tag) => set(target.row, { tag })}
            />
            <Text size="sm" w={52} ta="right" style={{ fontVariantNumeric: 'tabular-nums' }}>
              {shares[at]}
            </Text>
            <CloseButton
              aria-label={`Remove model ${at + 1}`}
              disabled={targets.length === 1}
              onClick={() => onChange(targets.filter(({ row }) => row !== target.row))}
            />
          </Group>
        ))}
        {targets.length < maxTargets && (
          <Group>
            <Button size="xs" variant="default" onClick={() => onChange([...targets, newTarget()])}>
              Add model
            </Button>
          </Group>
        )}
      </Stack>
    </Fieldset>
  )
}

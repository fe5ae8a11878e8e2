import { NumberInput } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { type Alias, describeShares } from './shares.ts'

interface WeightsFormProps {
  alias: Alias
  targets: NonNullable<Alias['targets']>
  onClose: () => void
}

const maxWeight = 10_000

export function WeightsForm({ alias: { id, name }, targets, onClose }: WeightsFormProps) {
  const refresh = useRefresh()
  const [weights, setWeights] = useState<(number | null)[]>(targets.map(({ weight }) => weight))
  const shares = describeShares(weights.map((weight) => weight ?? 0))
  const save = async () => {
    const body = { targets: targets.map((target, at) => ({ ...target, weight: weights[at] ?? 0 })) }
    await client.PATCH('/model-aliases/{id}', { params: { path: { id } }, body })
    await refresh('/model-aliases')
  }
  return (
    <FormDialog
      title={`Weights of ${name}`}
      action="Save"
      isReady={!weights.includes(null) && weights.some((weight) => weight !== 0)}
      onSubmit={save}
      onClose={onClose}
    >
      {targets.map(({ model, tag }, at) => (
        <NumberInput
          key={tag}
          label={model}
          description={`${tag}, ${shares[at]}`}
          min={0}
          max={maxWeight}
          clampBehavior="strict"
          allowDecimal={false}
          allowNegative={false}
          value={weights[at] ?? ''}
          onChange={(value) => setWeights(weights.with(at, typeof value === 'number' ? value : null))}
        />
      ))}
    </FormDialog>
  )
}

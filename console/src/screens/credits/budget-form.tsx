import { NumberInput, Select } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../../api/client.ts'
import { FormDialog } from '../../components/form-dialog.tsx'

type Budget = Schemas['WorkspaceBudget']
type Interval = Budget['reset_interval']

const intervals: { value: Interval; label: string }[] = [
  { value: 'daily', label: 'A day' },
  { value: 'weekly', label: 'A week' },
  { value: 'monthly', label: 'A month' },
  { value: 'lifetime', label: 'In all, never reset' },
]

interface BudgetFormProps {
  workspaceId: string
  /** The one to change; a new one without it. */
  budget?: Budget
  onClose: () => void
}

export function BudgetForm({ workspaceId, budget, onClose }: BudgetFormProps) {
  const [interval, setInterval] = useState<Interval>(budget?.reset_interval ?? 'monthly')
  const [limit, setLimit] = useState<number | string>(budget?.limit_usd ?? '')
  const queries = useQueryClient()
  const save = api.useMutation('put', '/workspaces/{workspace_ref}/budgets/{interval}')
  const isValid = typeof limit === 'number' && limit > 0
  const send = async () => {
    if (!isValid) return
    const path = { workspace_ref: workspaceId, interval }
    await save.mutateAsync({ params: { path }, body: { limit_usd: limit } })
    await queries.invalidateQueries({ queryKey: ['get', '/workspaces/{workspace_ref}/budgets'] })
  }
  return (
    <FormDialog
      title={budget ? 'Edit the budget' : 'Set a budget'}
      action="Save"
      isReady={isValid}
      onSubmit={send}
      onClose={onClose}
    >
      <Select
        label="Period"
        description="A budget that exists for this period is replaced. Longer periods need higher limits."
        data={intervals}
        allowDeselect={false}
        disabled={budget !== undefined}
        value={interval}
        onChange={(value) => setInterval(value ?? interval)}
      />
      <NumberInput
        label="Limit in USD"
        prefix="$"
        min={0}
        decimalScale={9}
        hideControls
        value={limit}
        onChange={setLimit}
        data-autofocus
      />
    </FormDialog>
  )
}

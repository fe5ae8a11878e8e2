import { Button, Group, Modal, NumberInput, Select, Stack } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../../api/client.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'

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
  const save = api.useMutation('put', '/workspaces/{workspace_ref}/budgets/{interval}', {
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['get', '/workspaces/{workspace_ref}/budgets'] })
      onClose()
    },
  })
  const isValid = typeof limit === 'number' && limit > 0
  const send = () => {
    if (!isValid || save.isPending) return
    save.mutate({ params: { path: { workspace_ref: workspaceId, interval } }, body: { limit_usd: limit } })
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={budget ? 'Edit the budget' : 'Set a budget'}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          send()
        }}
      >
        <Stack>
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
          {save.error && <ErrorNotice error={save.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" disabled={!isValid} loading={save.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

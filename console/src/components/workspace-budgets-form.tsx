import { Switch, Text } from '@mantine/core'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { useRefresh } from '../api/use-refresh.ts'
import { type Budgets, findMisorder, orderChanges } from './budget-changes.ts'
import { type BudgetNode, intervals, textsOf } from './budget-intervals.ts'
import { FormDialog } from './form-dialog.tsx'
import { MoneyField } from './money-field.tsx'

interface WorkspaceBudgetsFormProps {
  /** The node of the workspace. */
  node: BudgetNode
  workspaceId: string
  onClose: () => void
}

/** Edits the budgets of a workspace, one for each window. */
export function WorkspaceBudgetsForm({ node, workspaceId, onClose }: WorkspaceBudgetsFormProps) {
  const refresh = useRefresh()
  const before = budgetsOf(node)
  const wasByokIncluded = node.limits.some(({ include_byok }) => include_byok)
  const [budgets, setBudgets] = useState(before)
  const [isByokIncluded, setByokIncluded] = useState(wasByokIncluded)
  const misorder = findMisorder(budgets)
  const save = async () => {
    for (const { interval, limit } of listSteps(before, budgets, isByokIncluded !== wasByokIncluded)) {
      const params = { path: { workspace_ref: workspaceId, interval } }
      const path = '/workspaces/{workspace_ref}/budgets/{interval}'
      if (limit === null) await client.DELETE(path, { params })
      else
        await client.PUT(path, {
          params,
          body: { limit_usd: limit, include_byok_in_budgets: isByokIncluded },
        })
    }
  }
  return (
    <FormDialog
      title={`Budgets of ${node.name ?? workspaceId}`}
      action="Save"
      isReady={misorder === null}
      // What was saved before an error is shown, too.
      onSubmit={() => save().finally(() => refresh('/budgets'))}
      onClose={onClose}
    >
      <Text size="sm">
        Requests of all keys of the workspace count together. Requests that could exceed a budget are
        rejected. Leave empty for no budget.
      </Text>
      {intervals.map(({ value, label }, index) => (
        <MoneyField
          key={value}
          label={label}
          {...(index === 0 && { 'data-autofocus': true })}
          min={0}
          defaultValue={before[value]}
          onChange={(limit) => setBudgets({ ...budgets, [value]: limit === 0 ? null : limit })}
          error={misorder?.[1] === value && `Must be more than the limit of ${textsOf(misorder[0]).each}.`}
        />
      ))}
      <Switch
        label="Count requests with your own credentials of providers (BYOK)"
        description="At list prices, for all budgets of the workspace."
        disabled={Object.values(budgets).every((limit) => limit === null)}
        checked={isByokIncluded}
        onChange={(event) => setByokIncluded(event.currentTarget.checked)}
      />
    </FormDialog>
  )
}

function budgetsOf({ limits }: BudgetNode): Budgets {
  const limitOf = (interval: string) =>
    limits.find((limit) => limit.kind === 'workspace' && limit.interval === interval)?.limit ?? null
  return {
    daily: limitOf('daily'),
    weekly: limitOf('weekly'),
    monthly: limitOf('monthly'),
    lifetime: limitOf('lifetime'),
  }
}

/** Lists the requests to send. The BYOK setting is sent with a budget: with an unchanged one, if none is set. */
function listSteps(before: Budgets, after: Budgets, isByokChanged: boolean) {
  const changes = orderChanges(before, after)
  if (!isByokChanged || changes.some(({ limit }) => limit !== null)) return changes
  const unchanged = intervals.find(({ value }) => after[value] !== null)
  return unchanged ? [...changes, { interval: unchanged.value, limit: after[unchanged.value] }] : changes
}

import { Button, Group, NumberInput, Select, Stack, Switch, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { UsageBar } from '../../components/usage-bar.tsx'
import { formatMoney } from '../../format/money.ts'
import { type Interval, intervals, startOfWindow } from './window.ts'

type Workspace = Schemas['Workspace']

export function budgetsOptions(workspace_ref: string) {
  return api.queryOptions('get', '/workspaces/{workspace_ref}/budgets', {
    params: { path: { workspace_ref } },
  })
}

/** What the workspace may spend, and what it has spent. */
export function Budgets({ workspace, mayChange }: { workspace: Workspace; mayChange: boolean }) {
  const query = useQuery(budgetsOptions(workspace.id))
  const [isAdding, setAdding] = useState(false)
  return (
    <Panel
      title="Budgets"
      description="Requests are refused when one of them is spent. Days, weeks and months begin at 00:00 UTC."
      actions={
        mayChange && (
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            Set a budget
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data, include_byok_in_budgets }) => (
          <Stack gap="sm">
            {data.length === 0 && <Text size="sm">None: the workspace may spend all credits.</Text>}
            {data.map((budget) => (
              <BudgetRow
                key={budget.id}
                workspace={workspace}
                interval={budget.reset_interval}
                limit={budget.limit_usd}
                includesByok={include_byok_in_budgets}
                mayChange={mayChange}
              />
            ))}
            {isAdding && (
              <SetBudget
                workspaceId={workspace.id}
                includesByok={include_byok_in_budgets}
                onClose={() => setAdding(false)}
              />
            )}
          </Stack>
        )}
      </QueryView>
    </Panel>
  )
}

interface BudgetRowProps {
  workspace: Workspace
  interval: Interval
  limit: number
  includesByok: boolean
  mayChange: boolean
}

function BudgetRow({ workspace, interval, limit, includesByok, mayChange }: BudgetRowProps) {
  const queryClient = useQueryClient()
  const spent = useSpending(workspace, interval, includesByok)
  const known = intervals.find(({ value }) => value === interval)
  const remove = async () => {
    await client.DELETE('/workspaces/{workspace_ref}/budgets/{interval}', {
      params: { path: { workspace_ref: workspace.id, interval } },
    })
    await queryClient.invalidateQueries({ queryKey: budgetsOptions(workspace.id).queryKey })
  }
  return (
    <Group gap="md">
      <Text size="sm" fw={600} w={80}>
        {known?.label}
      </Text>
      <div style={{ flex: '1 1 200px', maxWidth: 420 }}>
        {spent === undefined ? (
          <Text size="sm">{formatMoney(limit)}</Text>
        ) : (
          <UsageBar used={spent} limit={limit} interval={known?.unit ?? null} />
        )}
      </div>
      {mayChange && (
        <ActionButton label={`Remove the ${interval} budget`} onAction={remove}>
          Remove
        </ActionButton>
      )}
    </Group>
  )
}

/** What the workspace spent in the running window; undefined if the person may not know, or while it is read. */
function useSpending(workspace: Workspace, interval: Interval, includesByok: boolean): number | undefined {
  const mayKnow = mayDo(useSession(), 'activity:read')
  const now = new Date()
  now.setUTCSeconds(0, 0)
  const metrics: ('credits_usage' | 'byok_usage')[] = [
    'credits_usage',
    ...(includesByok ? ['byok_usage' as const] : []),
  ]
  const query = useQuery({
    ...api.queryOptions('post', '/analytics/query', {
      body: {
        metrics,
        dimensions: [],
        limit: 1,
        filters: [{ field: 'workspace', operator: 'eq', value: workspace.id }],
        time_range: {
          start: startOfWindow(interval, now, workspace.created_at),
          end: new Date(now.getTime() + 60_000).toISOString(),
        },
      },
    }),
    enabled: mayKnow,
  })
  const rows = query.data?.data.data
  return rows?.reduce((sum, row) => sum + metrics.reduce((part, name) => part + Number(row[name] ?? 0), 0), 0)
}

interface SetBudgetProps {
  workspaceId: string
  includesByok: boolean
  onClose: () => void
}

function SetBudget({ workspaceId, includesByok, onClose }: SetBudgetProps) {
  const queryClient = useQueryClient()
  const [interval, setInterval] = useState<Interval>('monthly')
  const [limit, setLimit] = useState<number | string>('')
  const [isByokIncluded, setByokIncluded] = useState(includesByok)
  const save = async () => {
    await client.PUT('/workspaces/{workspace_ref}/budgets/{interval}', {
      params: { path: { workspace_ref: workspaceId, interval } },
      body: { limit_usd: Number(limit), include_byok_in_budgets: isByokIncluded },
    })
    await queryClient.invalidateQueries({ queryKey: budgetsOptions(workspaceId).queryKey })
  }
  return (
    <FormDialog
      title="Set a budget"
      action="Save"
      isReady={Number(limit) > 0}
      onSubmit={save}
      onClose={onClose}
    >
      <Select
        label="Window"
        description="Replaces the budget of this window, if there is one."
        data={intervals.map(({ value, label }) => ({ value, label }))}
        allowDeselect={false}
        value={interval}
        onChange={(value) => setInterval(intervals.find((known) => known.value === value)?.value ?? interval)}
      />
      <NumberInput
        label="Limit"
        prefix="$"
        min={0}
        decimalScale={9}
        required
        value={limit}
        onChange={setLimit}
      />
      <Switch
        label="Count requests with your own credentials of providers (BYOK)"
        description="For all budgets of the workspace."
        checked={isByokIncluded}
        onChange={(event) => setByokIncluded(event.currentTarget.checked)}
      />
    </FormDialog>
  )
}

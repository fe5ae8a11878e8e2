import { Button, Group, Stack, Table, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../../api/client.ts'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Money } from '../../components/money.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { BudgetForm } from './budget-form.tsx'

type Budget = Schemas['WorkspaceBudget']

const intervalLabels: Record<Budget['reset_interval'], string> = {
  daily: 'A day',
  weekly: 'A week',
  monthly: 'A month',
  lifetime: 'In all',
}

export function budgetsOptions(workspace_ref: string) {
  return api.queryOptions('get', '/workspaces/{workspace_ref}/budgets', {
    params: { path: { workspace_ref } },
  })
}

interface WorkspaceBudgetsProps {
  workspace: { id: string; name: string }
  mayWrite: boolean
}

export function WorkspaceBudgets({ workspace: { id, name }, mayWrite }: WorkspaceBudgetsProps) {
  const [isAdding, setAdding] = useState(false)
  const query = useQuery(budgetsOptions(id))
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4" style={{ overflowWrap: 'anywhere' }}>
          Budgets of {name}
        </Title>
        {mayWrite && (
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            Set a budget
          </Button>
        )}
      </Group>
      <QueryView query={query}>
        {({ data, include_byok_in_budgets }) =>
          data.length === 0 ? (
            <EmptyState title="No budgets">
              A budget limits what the keys of this workspace spend together in a day, a week, a month or in
              all. Requests beyond it are refused.
            </EmptyState>
          ) : (
            <>
              <BudgetTable budgets={data} mayWrite={mayWrite} />
              <Text size="xs" c="dimmed">
                {include_byok_in_budgets
                  ? 'Spending through your own provider keys counts, too.'
                  : 'Spending through your own provider keys does not count.'}
              </Text>
            </>
          )
        }
      </QueryView>
      {isAdding && <BudgetForm workspaceId={id} onClose={() => setAdding(false)} />}
    </Stack>
  )
}

function BudgetTable({ budgets, mayWrite }: { budgets: Budget[]; mayWrite: boolean }) {
  const [edited, setEdited] = useState<Budget | null>(null)
  const [deleted, setDeleted] = useState<Budget | null>(null)
  return (
    <Table.ScrollContainer minWidth={480}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Period</Table.Th>
            <Table.Th>Limit</Table.Th>
            <Table.Th>Changed</Table.Th>
            <Table.Th>Actions</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {budgets.map((budget) => (
            <Table.Tr key={budget.id}>
              <Table.Td>{intervalLabels[budget.reset_interval]}</Table.Td>
              <Table.Td>
                <Money value={budget.limit_usd} />
              </Table.Td>
              <Table.Td>
                <Time iso={budget.updated_at} style="age" />
              </Table.Td>
              <Table.Td>
                {mayWrite && (
                  <Group gap="xs">
                    <Button size="compact-xs" variant="default" onClick={() => setEdited(budget)}>
                      Edit
                    </Button>
                    <Button size="compact-xs" variant="default" onClick={() => setDeleted(budget)}>
                      Delete
                    </Button>
                  </Group>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {edited && (
        <BudgetForm workspaceId={edited.workspace_id} budget={edited} onClose={() => setEdited(null)} />
      )}
      {deleted && <DeleteBudget budget={deleted} onClose={() => setDeleted(null)} />}
    </Table.ScrollContainer>
  )
}

function DeleteBudget({ budget, onClose }: { budget: Budget; onClose: () => void }) {
  const queries = useQueryClient()
  const remove = api.useMutation('delete', '/workspaces/{workspace_ref}/budgets/{interval}')
  const { workspace_id, reset_interval } = budget
  const confirm = async () => {
    await remove.mutateAsync({ params: { path: { workspace_ref: workspace_id, interval: reset_interval } } })
    await queries.invalidateQueries({ queryKey: budgetsOptions(workspace_id).queryKey })
  }
  return (
    <ConfirmByName
      title="Delete the budget"
      name={reset_interval}
      action="Delete"
      onConfirm={confirm}
      onClose={onClose}
    >
      The workspace is no longer limited by it, from the next request on.
    </ConfirmByName>
  )
}

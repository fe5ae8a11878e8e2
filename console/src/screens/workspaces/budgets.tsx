import { Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { BudgetAlertButton } from '../../components/budget-alert-button.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { HistoryButton } from '../../components/history-button.tsx'
import { LimitBar } from '../../components/limit-bar.tsx'
import { spendingOptions } from '../../components/node-spending.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { WorkspaceBudgetsForm } from '../../components/workspace-budgets-form.tsx'

/** Shows the budgets of the workspace, and its spending. */
export function Budgets({ workspaceId, mayChange }: { workspaceId: string; mayChange: boolean }) {
  const query = useQuery(spendingOptions(`workspace:${workspaceId}`))
  const node = query.data?.parent
  return (
    <Panel
      title="Budgets"
      description={
        <>
          Requests are rejected once a budget is spent. Days, weeks and months begin at 00:00 UTC.{' '}
          <Anchor component={Link} to="/budgets" underline="always">
            All budgets
          </Anchor>
        </>
      }
      actions={
        <>
          <HistoryButton
            search={{ target_type: 'budget', workspace_id: workspaceId }}
            label="History of the budgets"
          />
          <BudgetAlertButton workspaceId={workspaceId} />
          {node && mayChange && (
            <DialogButton label="Edit budgets" variant="default">
              {(close) => <WorkspaceBudgetsForm node={node} workspaceId={workspaceId} onClose={close} />}
            </DialogButton>
          )}
        </>
      }
    >
      <QueryView query={query}>
        {({ parent }) => (
          <Stack gap="sm" maw={480}>
            {parent?.limits.length === 0 && (
              <Text size="sm">No budgets. The workspace can spend all credits.</Text>
            )}
            {parent?.limits.map((limit) => (
              <LimitBar key={limit.interval} limit={limit} />
            ))}
          </Stack>
        )}
      </QueryView>
    </Panel>
  )
}

import { SegmentedControl, Text } from '@mantine/core'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { intervals, textsOf } from '../../components/budget-intervals.ts'
import { Page } from '../../components/page.tsx'
import { BudgetTree } from './budget-tree.tsx'
import { childrenOptions } from './use-children.ts'

export const screen = createLazyRoute('/budgets')({ component: BudgetsScreen })

function BudgetsScreen() {
  const { window = 'monthly' } = screen.useSearch()
  const navigate = screen.useNavigate()
  return (
    <Page
      title="Budgets"
      docs="console#budgets"
      description="Spending and limits of the organization, its workspaces, members and keys, and the limit each would reach first."
      calls={[
        callOf(childrenOptions('organization')),
        callOf(childrenOptions('workspace:<id>')),
        callOf(childrenOptions('member:<workspace id>:<user id>')),
      ]}
    >
      <SegmentedControl
        aria-label="Spending of"
        style={{ alignSelf: 'flex-start' }}
        data={intervals.map(({ value, label }) => ({ value, label }))}
        value={window}
        onChange={(value) => void navigate({ search: { window: textsOf(value as typeof window).value } })}
      />
      <BudgetTree interval={window} />
      <Text size="xs" c="dimmed" maw={720}>
        Days, weeks and months begin at 00:00 UTC. The forecast assumes that spending continues at its average
        rate; it appears after 5% of the window. Held amounts are reserved for running requests.
      </Text>
    </Page>
  )
}

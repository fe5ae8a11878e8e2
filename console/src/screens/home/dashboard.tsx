import { SimpleGrid, Stack } from '@mantine/core'
import { mayDo, useSession } from '../../app/session.tsx'
import { type DashboardView, failuresOf, selectionOf } from './dashboard-view.ts'
import { FailingProviders } from './failing-providers.tsx'
import { Figures } from './figures.tsx'
import { LatestFailures } from './latest-failures.tsx'
import { NearBudgets } from './near-budgets.tsx'
import { TopLists } from './top-lists.tsx'

/** What is spent, by whom, and what needs attention: as far as the role may see it. */
export function Dashboard(view: DashboardView) {
  const session = useSession()
  const { search, now, workspaceId } = view
  const seesUsage = mayDo(session, 'activity:read')
  const period = search.period ?? 'day'
  return (
    <Stack gap="md">
      {seesUsage && <Figures period={period} now={now} workspaceId={workspaceId} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        {mayDo(session, 'budgets:read') && <NearBudgets workspaceId={workspaceId} />}
        {mayDo(session, 'models:read') && <FailingProviders />}
      </SimpleGrid>
      {seesUsage && <TopLists selection={selectionOf(view)} period={period} search={search} />}
      {mayDo(session, 'generations:read') && <LatestFailures selection={failuresOf(view)} />}
    </Stack>
  )
}

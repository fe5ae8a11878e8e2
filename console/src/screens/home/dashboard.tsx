import { SegmentedControl, SimpleGrid, Stack } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import type { Call } from '../../api/call.ts'
import { callOf } from '../../api/call.ts'
import { mayDo, type Session, useSession } from '../../app/session.tsx'
import { FailingProviders } from './failing-providers.tsx'
import { Figures } from './figures.tsx'
import { LatestFailures } from './latest-failures.tsx'
import { NearBudgets } from './near-budgets.tsx'
import {
  budgetsQuery,
  creditsQuery,
  failuresQuery,
  figuresQuery,
  healthQuery,
  type Selection,
} from './queries.ts'
import { type HomeSearch, periods, rangeOf } from './search.ts'
import { TopLists } from './top-lists.tsx'

export interface DashboardView {
  search: HomeSearch
  /** Milliseconds; the same for all parts. */
  now: number
  workspaceId: string | null
}

function selectionOf({ search, now, workspaceId }: DashboardView): Selection {
  return { range: rangeOf(search.period ?? 'day', now), workspaceId }
}

/** Always the last week: failures are rare. */
function failuresOf({ now, workspaceId }: DashboardView): Selection {
  return { range: rangeOf('week', now), workspaceId }
}

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

/** The calls of the parts that the role may see; those of figures and lists differ in their period and dimension. */
export function listCalls(session: Session, view: DashboardView): Call[] {
  return [
    ...(mayDo(session, 'activity:read') ? [figuresQuery(selectionOf(view))] : []),
    ...(mayDo(session, 'budgets:read') ? [budgetsQuery(view)] : []),
    ...(mayDo(session, 'credits:read') ? [creditsQuery] : []),
    ...(mayDo(session, 'models:read') ? [healthQuery] : []),
    ...(mayDo(session, 'generations:read') ? [failuresQuery(failuresOf(view))] : []),
  ].map(callOf)
}

export function PeriodControl({ search }: { search: HomeSearch }) {
  const navigate = useNavigate({ from: '/' })
  return (
    <SegmentedControl
      size="xs"
      aria-label="Period"
      data={Object.entries(periods).map(([value, { label }]) => ({ value, label }))}
      value={search.period ?? 'day'}
      onChange={(value) => {
        const { period: _, ...rest } = search
        void navigate({ search: value === 'week' ? { ...rest, period: value } : rest, replace: true })
      }}
    />
  )
}

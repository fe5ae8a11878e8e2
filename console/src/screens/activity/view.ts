import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useWorkspace } from '../../app/workspace.tsx'
import { type Metric, type MetricName, metricOf } from './metrics.ts'
import type { Selection } from './queries.ts'
import { type ActivitySearch, previousRange, rangeOf } from './search.ts'

const minuteMs = 60_000

/** The state of the screen: the choices in the address, and what follows from them. */
export interface View extends Selection {
  /** The filters of the address, without the workspace of the menu. */
  filters: ActivitySearch
  metricName: MetricName
  metric: Metric
  group: NonNullable<ActivitySearch['group']>
  chart: NonNullable<ActivitySearch['chart']>
  /** The period before, if it is compared with. */
  previous: Selection | null
  /** Undefined removes a choice. */
  change: (choices: { [Name in keyof ActivitySearch]?: ActivitySearch[Name] | undefined }) => void
  refresh: () => void
}

export function useView(): View {
  const chosen = useSearch({ from: '/activity' })
  const { id: workspaceId } = useWorkspace()
  const navigate = useNavigate({ from: '/activity' })
  const [now, setNow] = useState(nextMinute)
  return useMemo(() => {
    // The menu says which workspaces are counted; a filter may narrow all of them to one.
    const search = workspaceId === null ? chosen : { ...chosen, workspace_id: workspaceId }
    const { metric: metricName = 'spend', group = 'model', chart = 'bars' } = search
    const metric = metricOf(metricName)
    const range = rangeOf(search, now)
    return {
      search,
      filters: chosen,
      range,
      metricName,
      metric,
      group,
      // Medians of groups do not add up, so bars of them cannot be stacked.
      chart: metric.isAdditive ? chart : 'lines',
      previous: search.compare ? { search, range: previousRange(range) } : null,
      change: (choices) => {
        const next = Object.entries({ ...chosen, ...choices }).filter(([, value]) => value !== undefined)
        void navigate({ search: Object.fromEntries(next), replace: true })
      },
      refresh: () => setNow(nextMinute()),
    }
  }, [chosen, workspaceId, now, navigate])
}

/** Queries of the same minute are the same query. */
function nextMinute(): number {
  return Math.ceil(Date.now() / minuteMs) * minuteMs
}

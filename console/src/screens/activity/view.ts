import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useWorkspace } from '../../app/workspace.tsx'
import type { ActivityFilters } from './filters.ts'
import { metricOf, type RankingName } from './metrics.ts'
import type { Selection } from './queries.ts'
import { type ActivitySearch, isLongRange, previousRange, type Range, rangeOf, toApiTime } from './search.ts'

const minuteMs = 60_000

/** The state of the screen: the choices in the address, and what follows from them. */
export interface View extends Selection {
  /** The search of the address, without the workspace of the menu. */
  chosen: ActivitySearch
  /** What says which groups are the largest. */
  ranking: RankingName
  group: NonNullable<ActivitySearch['group']>
  chart: NonNullable<ActivitySearch['chart']>
  latency: 'p50' | 'p95'
  /** The period before, if it is compared with. */
  previous: Selection | null
  /** Undefined removes a choice. */
  change: (choices: { [Name in keyof ActivitySearch]?: ActivitySearch[Name] | undefined }) => void
  /** Shows a part of the period; Back leads to the whole. */
  zoom: (range: Range) => void
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
    const { metric = 'spend', group = 'model', chart = 'bars', latency = 'p95' } = search
    const range = rangeOf(search, now)
    return {
      search,
      chosen,
      range,
      ranking: metricOf(metric).isShort && isLongRange(range) ? 'spend' : metric,
      group,
      chart,
      latency,
      previous: search.compare ? { search, range: previousRange(range) } : null,
      change: (choices) => {
        const next = Object.entries({ ...chosen, ...choices }).filter(([, value]) => value !== undefined)
        void navigate({ search: Object.fromEntries(next), replace: true })
      },
      zoom: ({ start, end }) => {
        const { period: _, ...others } = chosen
        void navigate({ search: { ...others, from: toApiTime(start), to: toApiTime(end) } })
      },
      refresh: () => setNow(nextMinute()),
    }
  }, [chosen, workspaceId, now, navigate])
}

/** The filters of the address. */
export function filtersOf({ chosen }: View): ActivityFilters {
  const { metric: _m, group: _g, period: _p, from: _f, to: _t, ...others } = chosen
  const { compare: _c, chart: _k, latency: _l, ...filters } = others
  return filters
}

/** Queries of the same minute are the same query. */
function nextMinute(): number {
  return Math.ceil(Date.now() / minuteMs) * minuteMs
}

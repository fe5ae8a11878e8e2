import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { describeEntry, type Entry } from '../../components/audit-sentence.ts'
import type { ChartMark } from '../../components/chart-marks.tsx'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import { markedActions, selectEntries } from './marked-entries.ts'
import type { Selection } from './queries.ts'
import { toApiTime } from './search.ts'

/** Entries that are read. */
const maxEntries = 200

export function useMayReadChanges(): boolean {
  return mayDoEverywhere(useSession(), 'audit:read')
}

export function annotationsQuery({ range }: Selection) {
  const query = {
    ...{ action: markedActions.join(), outcome: 'success' as const, limit: maxEntries },
    ...{ from: toApiTime(range.start), to: toApiTime(range.end) },
  }
  return { ...api.queryOptions('get', '/audit', { params: { query } }), staleTime: 60_000 }
}

/** The newest changes of a period, each with its entry in the audit log; none for those who may not read it. */
export function useAnnotations(view: Selection): ChartMark[] {
  const { data } = useQuery({ ...annotationsQuery(view), enabled: useMayReadChanges() })
  const entries = useMemo(
    () => selectEntries(data?.data ?? [], view.search.workspace_id),
    [data, view.search.workspace_id],
  )
  const workspaceOf = useWorkspaceNames(entries.map(({ workspace_id }) => workspace_id))
  return entries.map((entry) => toMark(entry, describeEntry(entry, { workspaceOf })))
}

function toMark({ id, created_at, target }: Entry, label: string): ChartMark {
  const time = Date.parse(created_at)
  const to = new Date(time + 1).toISOString()
  return { id, time, label, to: '/audit', search: { from: created_at, to, target_id: target.id } }
}

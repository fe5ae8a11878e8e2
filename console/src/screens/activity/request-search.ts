import { mayDo, useSession } from '../../app/session.tsx'
import type { ActivityGroup, Dimension } from './dimensions.ts'
import { type ActivityFilters, narrow } from './filters.ts'
import { type Range, toApiTime } from './search.ts'
import { filtersOf, type View } from './view.ts'

/** A part of what is shown: all of it if nothing is given. */
export interface Part {
  range?: Range
  group?: ActivityGroup | undefined
  dimension?: Dimension | undefined
  /** Statuses of requests, if it is not all of them. */
  status?: string | undefined
}

interface RequestSearch extends ActivityFilters {
  from: string
  to: string
  status?: string
}

/** The requests behind a part, as the request log finds them; undefined for a group that it has no filter for. */
export function requestSearchOf(
  view: View,
  { range = view.range, group, dimension, status }: Part,
): RequestSearch | undefined {
  const { workspace_id } = view.search
  const filters: ActivityFilters = { ...filtersOf(view), ...(workspace_id !== undefined && { workspace_id }) }
  const narrowed = group && dimension ? narrow(filters, dimension, group) : filters
  if (!narrowed) return undefined
  return {
    ...narrowed,
    from: toApiTime(range.start),
    to: toApiTime(range.end),
    ...(status !== undefined && { status }),
  }
}

export function useMayReadRequests(): boolean {
  return mayDo(useSession(), 'generations:read')
}

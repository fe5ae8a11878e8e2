import { type Call, callOf } from '../../api/call.ts'
import { mayDo, type Session } from '../../app/session.tsx'
import {
  budgetsQuery,
  creditsQuery,
  failuresQuery,
  figuresQuery,
  healthQuery,
  type Selection,
} from './queries.ts'
import { type HomeSearch, rangeOf } from './search.ts'

export interface DashboardView {
  search: HomeSearch
  /** Milliseconds; the same for all parts. */
  now: number
  workspaceId: string | null
}

export function selectionOf({ search, now, workspaceId }: DashboardView): Selection {
  return { range: rangeOf(search.period ?? 'day', now), workspaceId }
}

/** Always the last week: failures are rare. */
export function failuresOf({ now, workspaceId }: DashboardView): Selection {
  return { range: rangeOf('week', now), workspaceId }
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

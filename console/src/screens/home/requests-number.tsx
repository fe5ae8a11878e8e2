import type { ReactNode } from 'react'
import { mayDo, useSession } from '../../app/session.tsx'
import { escapeFilterValue } from '../../components/filter-value.ts'
import { TextLink } from '../../components/text-link.tsx'
import type { Selection } from './queries.ts'
import { toApiTime } from './search.ts'

export interface RequestFilters {
  status?: string
  model?: string
  key?: string
  workspace_id?: string
  external_user?: string
}

interface RequestsNumberProps {
  selection: Selection
  filters?: RequestFilters
  /** The accessible name: what the number is. */
  label: string
  children: ReactNode
}

/** A number that leads to the requests behind it, for those who may read them. */
export function RequestsNumber({ selection, filters = {}, label, children }: RequestsNumberProps) {
  const { range, workspaceId } = selection
  if (!mayDo(useSession(), 'generations:read')) return <>{children}</>
  const search = {
    from: toApiTime(range.start),
    to: toApiTime(range.end),
    ...(workspaceId !== null && { workspace_id: workspaceId }),
    ...escapeAll(filters),
  }
  return (
    <TextLink to="/requests" search={search} aria-label={label} inherit c="inherit" underline="hover">
      {children}
    </TextLink>
  )
}

/** A list of statuses stays one. */
function escapeAll({ status, ...values }: RequestFilters): RequestFilters {
  const escaped = Object.entries(values).map(([name, value]) => [name, escapeFilterValue(value)])
  return { ...(status !== undefined && { status }), ...Object.fromEntries(escaped) }
}

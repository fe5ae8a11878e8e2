import { visibleNavigation } from '../../app/navigation.ts'
import { useSession } from '../../app/session.tsx'
import { escapeFilterValue } from '../../components/filter-value.ts'
import { TextLink } from '../../components/text-link.tsx'
import { type ActivityGroup, type Dimension, type FilterName, filterNames } from './dimensions.ts'
import { toApiTime } from './search.ts'
import type { View } from './view.ts'

interface RequestsLinkProps {
  view: View
  /** One group only; all requests without it. */
  group?: ActivityGroup
  dimension?: Dimension
}

/** Links to the request log, with the same period and filters. Hidden for a group that the log has no filter for. */
export function RequestsLink({ view, group, dimension }: RequestsLinkProps) {
  const isOffered = visibleNavigation(useSession()).some(({ items }) =>
    items.some(({ to }) => to === '/requests'),
  )
  const search = searchOf(view, group, dimension)
  if (!isOffered || !search) return null
  const name = group ? `Requests of ${group.label}` : 'Show the requests'
  return (
    <TextLink to="/requests" search={search} aria-label={name}>
      {group ? 'Requests' : name}
    </TextLink>
  )
}

interface RequestFilters extends Partial<Record<FilterName, string>> {
  from: string
  to: string
  status?: string
}

function searchOf(
  { search, range, metric }: View,
  group?: ActivityGroup,
  dimension?: Dimension,
): RequestFilters | undefined {
  if (group && (!dimension?.filter || group.id === null)) return undefined
  const filters: RequestFilters = { from: toApiTime(range.start), to: toApiTime(range.end) }
  for (const name of filterNames) {
    const value = search[name]
    if (value !== undefined) filters[name] = escapeFilterValue(value)
  }
  if (group?.id && dimension?.filter) filters[dimension.filter] = escapeFilterValue(group.id)
  if (metric.isOnlyFailures) filters.status = 'failed,cancelled'
  return filters
}

import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { visibleNavigation } from '../../app/navigation.ts'
import { useSession } from '../../app/session.tsx'
import { type ActivityGroup, type Dimension, filterNames } from './dimensions.ts'
import { toApiTime } from './search.ts'
import type { View } from './view.ts'

interface RequestsLinkProps {
  view: View
  /** One group only; all requests without it. */
  group?: ActivityGroup
  dimension?: Dimension
}

/** To the request log, with the same period and filters. None for a group that the log has no filter for. */
export function RequestsLink({ view, group, dimension }: RequestsLinkProps) {
  const isOffered = visibleNavigation(useSession()).some(({ items }) =>
    items.some(({ to }) => to === '/requests'),
  )
  const search = searchOf(view, group, dimension)
  if (!isOffered || !search) return null
  const name = group ? `Requests of ${group.label}` : 'Show the requests'
  return (
    <Anchor component={Link} to="/requests" search={search as never} size="sm" aria-label={name}>
      {group ? 'Requests' : name}
    </Anchor>
  )
}

function searchOf(
  { search, range, metric }: View,
  group?: ActivityGroup,
  dimension?: Dimension,
): Record<string, string> | undefined {
  const filters = filterNames.flatMap((name) => {
    const value = search[name]
    return value === undefined ? [] : [[name, value]]
  })
  if (group && (!dimension?.filter || group.id === null)) return undefined
  if (group && dimension?.filter) filters.push([dimension.filter, group.id ?? ''])
  if (metric.isOnlyFailures) filters.push(['status', 'failed,cancelled'])
  return Object.fromEntries([...filters, ['from', toApiTime(range.start)], ['to', toApiTime(range.end)]])
}

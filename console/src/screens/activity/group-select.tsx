import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { type DimensionName, dimensionNames, dimensionOf } from './dimensions.ts'
import { useMayReadRequests } from './request-search.ts'
import { type ActivitySearch, isLongRange } from './search.ts'
import type { View } from './view.ts'

const recentRequests = 100

/** Chooses the dimension: one of those that every request has, or a tag. */
export function GroupSelect({ view }: { view: View }) {
  const [isOpen, setOpen] = useState(false)
  const tags = useTagNames(isOpen)
  const isLong = isLongRange(view.range)
  const toOption = (value: DimensionName) => {
    const { label, isShort = false } = dimensionOf(value)
    return { value, label, disabled: isShort && isLong }
  }
  const shownTags = view.group.startsWith('tag:') ? [view.group.slice('tag:'.length), ...tags] : tags
  return (
    <Select
      label="Group by"
      size="xs"
      w={150}
      allowDeselect={false}
      maxDropdownHeight={360}
      data={[
        ...dimensionNames.map(toOption),
        ...[...new Set(shownTags)].map((tag) => toOption(`tag:${tag}`)),
        { value: 'none', label: 'Nothing' },
      ]}
      value={view.group}
      onDropdownOpen={() => setOpen(true)}
      onChange={(group) => view.change({ group: (group ?? undefined) as ActivitySearch['group'] })}
    />
  )
}

/** The names of the tags of recent requests. */
function useTagNames(isWanted: boolean): string[] {
  const mayRead = useMayReadRequests()
  const { data } = useQuery({
    ...api.queryOptions('get', '/generations', { params: { query: { limit: recentRequests } } }),
    enabled: isWanted && mayRead,
    staleTime: 60_000,
  })
  const names = (data?.data ?? []).flatMap(({ tags }) => tags.map((tag) => tag.slice(0, tag.indexOf('='))))
  return [...new Set(names)].sort()
}

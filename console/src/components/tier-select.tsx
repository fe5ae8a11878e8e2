import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { allPages } from '../api/all-pages.ts'
import { api } from '../api/client.ts'
import { mayDo, useSession } from '../app/session.tsx'

interface TierSelectProps {
  placeholder?: string
  value: string | null
  onChange: (tier: string | null) => void
}

/** Chooses a tier, where there are tiers that the person may see. */
export function TierSelect({ placeholder = 'None', value, onChange }: TierSelectProps) {
  const isAllowed = mayDo(useSession(), 'budgets:read')
  const { data } = useQuery({ ...allPages(api.queryOptions('get', '/tiers')), enabled: isAllowed })
  if (!data || data.data.length === 0) return null
  return (
    <Select
      label="Tier"
      placeholder={placeholder}
      clearable
      searchable
      limit={100}
      data={data.data.map(({ name }) => name)}
      value={value}
      onChange={onChange}
    />
  )
}

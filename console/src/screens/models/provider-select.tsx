import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'

interface ProviderSelectProps {
  value: string | null
  onChange: (slug: string | null) => void
}

/** Chooses a provider of the catalog. */
export function ProviderSelect({ value, onChange }: ProviderSelectProps) {
  const providers = useQuery(api.queryOptions('get', '/providers'))
  return (
    <Select
      label="Provider"
      data={(providers.data?.data ?? []).map(({ slug, name }) => ({ value: slug, label: name }))}
      searchable
      required
      value={value}
      onChange={onChange}
    />
  )
}

import { MultiSelect, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { mayDo, useSession } from '../app/session.tsx'

/** The newest keys of a workspace, and chosen ones that are not among them by their hash. */
function useKeyOptions(workspaceId: string | null, chosen: string[]) {
  const options = api.queryOptions('get', '/keys', {
    params: { query: { ...(workspaceId !== null && { workspace_id: workspaceId }) } },
  })
  const query = useQuery({ ...options, enabled: mayDo(useSession(), 'keys:read') })
  const keys = (query.data?.data ?? []).map(({ hash, name, label }) => ({
    value: hash,
    label: `${name} (${label})`,
  }))
  const others = chosen.filter((hash) => !keys.some(({ value }) => value === hash))
  return [...keys, ...others.map((hash) => ({ value: hash, label: hash }))]
}

interface CommonProps {
  label: string
  description?: string
  workspaceId: string | null
  disabled?: boolean
}

interface KeySelectProps extends CommonProps {
  value: string | null
  onChange: (hash: string | null) => void
}

/** Chooses an API key among the newest 100 of a workspace. */
export function KeySelect({ workspaceId, value, ...props }: KeySelectProps) {
  const data = useKeyOptions(workspaceId, value === null ? [] : [value])
  return (
    <Select {...props} data={data} value={value} searchable limit={50} nothingFoundMessage="No key found" />
  )
}

interface KeysSelectProps extends CommonProps {
  value: string[]
  onChange: (hashes: string[]) => void
}

/** Chooses several. */
export function KeysSelect({ workspaceId, value, ...props }: KeysSelectProps) {
  const data = useKeyOptions(workspaceId, value)
  return (
    <MultiSelect
      {...props}
      data={data}
      value={value}
      searchable
      clearable
      limit={50}
      nothingFoundMessage="No key found"
    />
  )
}

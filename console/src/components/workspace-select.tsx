import { MultiSelect, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'

/** The API has no larger pages. */
const listed = 100

function useWorkspaceOptions() {
  const query = useQuery(api.queryOptions('get', '/workspaces', { params: { query: { limit: listed } } }))
  return (query.data?.data ?? []).map(({ id, name, slug }) => ({ value: id, label: `${name} (${slug})` }))
}

interface WorkspaceSelectProps {
  label: string
  description?: string
  /** What no choice means. */
  placeholder: string
  value: string | null
  onChange: (id: string | null) => void
}

/** Chooses a workspace, or none. */
export function WorkspaceSelect(props: WorkspaceSelectProps) {
  return <Select {...props} data={useWorkspaceOptions()} searchable clearable />
}

interface WorkspacesSelectProps {
  label: string
  description?: string
  value: string[]
  onChange: (ids: string[]) => void
}

/** Chooses several workspaces. */
export function WorkspacesSelect(props: WorkspacesSelectProps) {
  return <MultiSelect {...props} data={useWorkspaceOptions()} searchable clearable />
}

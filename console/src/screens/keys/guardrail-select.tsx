import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { allPages } from '../../api/all-pages.ts'
import { api } from '../../api/client.ts'

interface GuardrailSelectProps {
  workspaceId: string | null
  value: string | null
  onChange: (id: string | null) => void
}

/** Chooses a guardrail of the workspace, where there are any. */
export function GuardrailSelect({ workspaceId, value, onChange }: GuardrailSelectProps) {
  const query = workspaceId === null ? {} : { workspace_id: workspaceId }
  const guardrails = useQuery(allPages(api.queryOptions('get', '/guardrails', { params: { query } })))
  const options = (guardrails.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))
  if (options.length === 0) return null
  return (
    <Select
      label="Guardrail"
      description="Instead of allowed models. Those of the organization, the workspace and you apply too."
      placeholder="None"
      clearable
      searchable
      limit={100}
      data={options}
      value={value}
      onChange={onChange}
    />
  )
}

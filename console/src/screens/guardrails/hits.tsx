import { Badge, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, type Schemas } from '../../api/client.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'
import { actionColors } from './filter-action.ts'

const shown = 20

export function hitsOptions(workspaceId: string | null) {
  return api.queryOptions('get', '/guardrails/hits', {
    params: { query: { limit: shown, ...(workspaceId && { workspace_id: workspaceId }) } },
  })
}

/** Lists the latest findings of guardrails. */
export function Hits({ workspaceId }: { workspaceId: string | null }) {
  const query = useQuery(hitsOptions(workspaceId))
  return (
    <Panel
      title="Last hits"
      description={`The ${shown} newest matches in requests and replies${workspaceId ? ' of this workspace' : ''}. The text that matched is not stored.`}
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text size="sm">Nothing matched yet.</Text>
          ) : (
            <DataTable columns={columns} rows={data} keyOf={({ id }) => id} minWidth={760} />
          )
        }
      </QueryView>
    </Panel>
  )
}

const columns: Column<Schemas['ListedGuardrailHit']>[] = [
  { header: 'When', render: ({ created_at }) => <Time iso={created_at} style="age" /> },
  { header: 'Rule', breaksWords: true, render: ({ rule }) => rule },
  {
    header: 'Effect',
    render: ({ action, enforced }) => (
      <Badge variant="light" color={actionColors[action]} tt="none">
        {action}
        {!enforced && ' (dry run)'}
      </Badge>
    ),
  },
  { header: 'Matches', render: ({ count, direction }) => `${formatCount(count)} in the ${direction}` },
  { header: 'Key', breaksWords: true, render: ({ api_key_name }) => api_key_name ?? '–' },
  {
    header: 'Request',
    breaksWords: true,
    render: ({ generation_id }) => (
      <TextLink to="/requests/$id" params={{ id: generation_id }}>
        {generation_id}
      </TextLink>
    ),
  },
]

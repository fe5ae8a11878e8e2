import { Badge, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, type Schemas } from '../../api/client.ts'
import { Id } from '../../components/copy.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'
import { actionColors } from './filter-action.ts'

const shown = 20

export function hitsOptions(workspaceId: string | null) {
  return api.queryOptions('get', '/guardrails/hits', {
    params: { query: { limit: shown, ...(workspaceId && { workspace_id: workspaceId }) } },
  })
}

/** What guardrails found last. */
export function Hits({ workspaceId }: { workspaceId: string | null }) {
  const query = useQuery(hitsOptions(workspaceId))
  return (
    <Panel
      title="Last hits"
      description={`The ${shown} newest matches in requests and replies${workspaceId ? ' of this workspace' : ''}. The text that matched is not stored.`}
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? <Text size="sm">Nothing matched yet.</Text> : <HitTable hits={data} />
        }
      </QueryView>
    </Panel>
  )
}

function HitTable({ hits }: { hits: Schemas['ListedGuardrailHit'][] }) {
  return (
    <Table.ScrollContainer minWidth={760}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Rule</Table.Th>
            <Table.Th>Effect</Table.Th>
            <Table.Th>Matches</Table.Th>
            <Table.Th>Key</Table.Th>
            <Table.Th>Request</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {hits.map((hit) => (
            <Table.Tr key={hit.id}>
              <Table.Td>
                <Time iso={hit.created_at} style="age" />
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{hit.rule}</Table.Td>
              <Table.Td>
                <Badge variant="light" color={actionColors[hit.action]} tt="none">
                  {hit.action}
                  {!hit.enforced && ' (dry run)'}
                </Badge>
              </Table.Td>
              <Table.Td>
                {formatCount(hit.count)} in the {hit.direction}
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{hit.api_key_name ?? '–'}</Table.Td>
              <Table.Td>
                <Id value={hit.generation_id} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

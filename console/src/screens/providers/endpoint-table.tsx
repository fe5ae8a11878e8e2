import { Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { EndpointSparklines } from '../../components/endpoint-sparklines.tsx'
import { HealthBadge, HealthReason } from '../../components/health-state.tsx'
import { Pager } from '../../components/pager.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { endpointPageSize, endpointsOptions } from './queries.ts'

/** The models that the provider serves, with the health of each. */
export function EndpointTable({ provider }: { provider: string }) {
  const [offset, setOffset] = useState(0)
  const query = useQuery({ ...endpointsOptions(provider, offset), placeholderData: keepPreviousData })
  return (
    <Panel title="Endpoints" description="One for each model that the provider offers.">
      <QueryView query={query}>
        {({ data, total_count }) => (
          <>
            <Table.ScrollContainer minWidth={340}>
              <Table verticalSpacing="xs">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Model</Table.Th>
                    <Table.Th>State</Table.Th>
                    <Table.Th visibleFrom="sm">Uptime, 24 hours</Table.Th>
                    <Table.Th visibleFrom="sm">First token, median</Table.Th>
                    <Table.Th visibleFrom="sm">Tokens/s, median</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {data.map((endpoint) => (
                    <EndpointRow key={`${endpoint.model_id} ${endpoint.tag}`} endpoint={endpoint} />
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
            <Pager offset={offset} size={endpointPageSize} total={total_count} onChange={setOffset} />
          </>
        )}
      </QueryView>
    </Panel>
  )
}

function EndpointRow({ endpoint }: { endpoint: Schemas['EndpointHealth'] }) {
  const [author = '', ...slug] = endpoint.model_id.split('/')
  return (
    <Table.Tr>
      <Table.Td maw={260} style={{ overflowWrap: 'anywhere' }}>
        <TextLink to="/models/$author/$slug" params={{ author, slug: slug.join('/') }}>
          {endpoint.model_id}
        </TextLink>
        {endpoint.tag !== endpoint.provider && (
          <Text size="xs" c="dimmed">
            {endpoint.tag}
          </Text>
        )}
      </Table.Td>
      <Table.Td maw={320}>
        <HealthBadge state={endpoint.state} />
        <HealthReason {...endpoint} />
      </Table.Td>
      <EndpointSparklines health={endpoint} visibleFrom="sm" />
    </Table.Tr>
  )
}

import { Badge, Group, Spoiler, Table } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, type Schemas } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { EndpointSparklines } from '../../components/endpoint-sparklines.tsx'
import { HealthBadge, HealthReason } from '../../components/health-state.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatContext } from '../../format/number.ts'
import { PriceCells } from './price-cells.tsx'

type Endpoint = Schemas['PublicEndpoint']

const refreshMs = 10_000

export function endpointHealthOptions(model: string) {
  return {
    ...api.queryOptions('get', '/endpoints/health', { params: { query: { model, limit: 100 } } }),
    refetchInterval: refreshMs,
  }
}

/** Lists the endpoints of the model, with their prices and performance. */
export function EndpointList({ model, endpoints }: { model: string; endpoints: Endpoint[] }) {
  const health = useQuery(endpointHealthOptions(model))
  if (endpoints.length === 0) {
    return (
      <EmptyState title="No endpoints">
        This model chooses another one for each request, or no provider offers it.
      </EmptyState>
    )
  }
  return (
    <Table.ScrollContainer minWidth={1000}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Provider</Table.Th>
            <Table.Th ta="right">Input</Table.Th>
            <Table.Th ta="right">Output</Table.Th>
            <Table.Th ta="right">Cache read</Table.Th>
            <Table.Th ta="right">Context</Table.Th>
            <Table.Th>Uptime, 24 hours</Table.Th>
            <Table.Th>First token, median</Table.Th>
            <Table.Th>Tokens/s, median</Table.Th>
            <Table.Th>Parameters</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {endpoints.map((endpoint) => (
            <EndpointRow
              key={endpoint.tag}
              endpoint={endpoint}
              health={health.data?.data.find(({ tag }) => tag === endpoint.tag)}
            />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

interface EndpointRowProps {
  endpoint: Endpoint
  health: Schemas['EndpointHealth'] | undefined
}

function EndpointRow({ endpoint, health }: EndpointRowProps) {
  const { pricing } = endpoint
  return (
    <Table.Tr>
      <Table.Td maw={280}>
        <Group gap={6}>
          <ProviderName name={endpoint.provider_name} slug={health?.provider} />
          {health && <HealthBadge state={health.state} />}
          {endpoint.quantization && (
            <Badge variant="light" color="gray" tt="none">
              {endpoint.quantization}
            </Badge>
          )}
        </Group>
        {health && <HealthReason {...health} />}
        <Id value={endpoint.tag} label="Copy the tag" />
      </Table.Td>
      <PriceCells pricing={pricing} />
      <Table.Td ta="right">{formatContext(endpoint.context_length)}</Table.Td>
      <EndpointSparklines health={health} />
      <Table.Td maw={220}>
        <Spoiler maxHeight={40} showLabel="Show all" hideLabel="Show less" fz="xs">
          {endpoint.supported_parameters.join(', ')}
        </Spoiler>
      </Table.Td>
    </Table.Tr>
  )
}

/** A link for those who may open the screen. */
function ProviderName({ name, slug }: { name: string; slug: string | undefined }) {
  const session = useSession()
  if (slug === undefined || !mayDo(session, 'byok:read')) return <>{name}</>
  return (
    <TextLink to="/providers/$slug" params={{ slug }}>
      {name}
    </TextLink>
  )
}

import { Badge, Button, Group, Paper, SimpleGrid, Spoiler, Stack, Table, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, Link } from '@tanstack/react-router'
import { type Call, callOf, curlOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { CodeBlock, Id } from '../../components/copy.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { RichText } from '../../components/rich-text.tsx'
import { formatCompact, formatDuration } from '../../format/number.ts'
import { formatPerMillion } from '../../format/price.ts'

export const screen = createLazyRoute('/catalogue/$author/$slug')({ component: ModelScreen })

type Endpoint = Schemas['PublicEndpoint']

function ModelScreen() {
  const { author, slug } = screen.useParams()
  const session = useSession()
  const path = { author, slug }
  const modelOptions = api.queryOptions('get', '/model/{author}/{slug}', { params: { path } })
  const endpointsOptions = api.queryOptions('get', '/models/{author}/{slug}/endpoints', { params: { path } })
  const model = useQuery(modelOptions)
  const endpoints = useQuery(endpointsOptions)
  const id = `${author}/${slug}`
  const outputs: string[] = model.data?.data.architecture.output_modalities ?? []
  const isText = outputs.includes('text')
  const snippet = outputs.map((output) => callsByOutput[output]?.(id)).find((call) => call !== undefined)
  return (
    <Page
      title={model.data?.data.name ?? id}
      calls={[callOf(modelOptions), callOf(endpointsOptions)]}
      actions={
        <>
          <Button component={Link} to="/catalogue" variant="default" size="xs">
            All models
          </Button>
          {isText && mayDo(session, 'inference:write') && (
            <Button
              renderRoot={(props) => <Link to="/playground" search={{ model: id }} {...props} />}
              size="xs"
            >
              Open in playground
            </Button>
          )}
        </>
      }
    >
      <QueryView query={model}>{({ data }) => <Summary model={data} />}</QueryView>
      <Title order={2} size="h4">
        Endpoints
      </Title>
      <QueryView query={endpoints}>{({ data }) => <EndpointList endpoints={data.endpoints} />}</QueryView>
      {snippet && <Snippet call={snippet} />}
    </Page>
  )
}

/** How a model is used depends on what it gives. */
const callsByOutput: Record<string, (model: string) => Call> = {
  text: (model) => post('/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] }),
  embeddings: (model) => post('/embeddings', { model, input: 'Hello' }),
  rerank: (model) => post('/rerank', { model, query: 'Blue', documents: ['The sky', 'A stone'] }),
  image: (model) => post('/images', { model, prompt: 'A lighthouse' }),
  video: (model) => post('/videos', { model, prompt: 'A lighthouse' }),
}

function post(path: string, body: unknown): Call {
  return { method: 'POST', path, body }
}

function Snippet({ call }: { call: Call }) {
  return (
    <>
      <Title order={2} size="h4">
        Send it a request
      </Title>
      <CodeBlock code={curlOf(call)} label="Copy as curl" />
    </>
  )
}

function Summary({ model }: { model: Schemas['Model'] }) {
  const { pricing, architecture } = model
  const facts: [string, string][] = [
    ['In, per million tokens', formatPerMillion(pricing.prompt)],
    ['Out, per million tokens', formatPerMillion(pricing.completion)],
    ['Cache read, per million', formatPerMillion(pricing.input_cache_read)],
    ['Cache write, per million', formatPerMillion(pricing.input_cache_write)],
    ['Context', model.context_length === null ? '–' : `${formatCompact(model.context_length)} tokens`],
    ['Longest answer', formatTokens(model.top_provider.max_completion_tokens)],
    ['Takes', architecture.input_modalities.join(', ')],
    ['Gives', architecture.output_modalities.join(', ')],
  ]
  return (
    <Stack>
      <Id value={model.id} />
      {model.description && <RichText text={model.description} />}
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        {facts.map(([label, value]) => (
          <Paper key={label} withBorder p="sm">
            <Text size="xs" c="dimmed">
              {label}
            </Text>
            <Text fw={600}>{value}</Text>
          </Paper>
        ))}
      </SimpleGrid>
      {(pricing.overrides?.length ?? 0) > 0 && (
        <Text size="sm" c="dimmed">
          Other prices apply to long prompts or at some hours: {describeOverrides(pricing)}.
        </Text>
      )}
    </Stack>
  )
}

function formatTokens(tokens: number | null): string {
  return tokens === null ? '–' : `${formatCompact(tokens)} tokens`
}

function describeOverrides({ overrides = [] }: Schemas['PublicPricing']): string {
  return overrides
    .map(({ min_prompt_tokens: tokens, utc_start, utc_end, prompt, completion }) => {
      const when =
        tokens === undefined
          ? `${utc_start ?? 0} to ${utc_end ?? 24} h UTC`
          : `from ${formatCompact(tokens)} tokens`
      return `${when} ${formatPerMillion(prompt)} in and ${formatPerMillion(completion)} out`
    })
    .join('; ')
}

function EndpointList({ endpoints }: { endpoints: Endpoint[] }) {
  if (endpoints.length === 0) {
    return (
      <EmptyState title="No endpoints">
        This model chooses another one for each request, or no provider offers it.
      </EmptyState>
    )
  }
  return (
    <Table.ScrollContainer minWidth={960}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Provider</Table.Th>
            <Table.Th ta="right">In</Table.Th>
            <Table.Th ta="right">Out</Table.Th>
            <Table.Th ta="right">Cache read</Table.Th>
            <Table.Th ta="right">Context</Table.Th>
            <Table.Th>Quantization</Table.Th>
            <Table.Th ta="right">Uptime, 1 day</Table.Th>
            <Table.Th ta="right">First token, median</Table.Th>
            <Table.Th ta="right">Tokens/s</Table.Th>
            <Table.Th>Parameters</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {endpoints.map((endpoint) => (
            <EndpointRow key={endpoint.tag} endpoint={endpoint} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function EndpointRow({ endpoint }: { endpoint: Endpoint }) {
  const { pricing, uptime_last_1d: uptime, latency_last_30m: latency, throughput_last_30m: speed } = endpoint
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={4}>
          {endpoint.provider_name}
          {endpoint.status < 0 && <Badge color="orange">degraded</Badge>}
        </Group>
        <Id value={endpoint.tag} label="Copy the tag" />
      </Table.Td>
      <Table.Td ta="right">{formatPerMillion(pricing.prompt)}</Table.Td>
      <Table.Td ta="right">{formatPerMillion(pricing.completion)}</Table.Td>
      <Table.Td ta="right">{formatPerMillion(pricing.input_cache_read)}</Table.Td>
      <Table.Td ta="right">{formatCompact(endpoint.context_length)}</Table.Td>
      <Table.Td>{endpoint.quantization ?? '–'}</Table.Td>
      <Table.Td ta="right">{uptime === null ? '–' : `${Math.round(uptime * 10) / 10} %`}</Table.Td>
      <Table.Td ta="right">{latency ? formatDuration(latency.p50) : '–'}</Table.Td>
      <Table.Td ta="right">{speed ? Math.round(speed.p50) : '–'}</Table.Td>
      <Table.Td maw={260}>
        <Spoiler maxHeight={40} showLabel="Show all" hideLabel="Show less" fz="xs">
          {endpoint.supported_parameters.join(', ')}
        </Spoiler>
      </Table.Td>
    </Table.Tr>
  )
}

import { Button, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type Call, callOf, curlOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { CodeBlock, Id } from '../../components/copy.tsx'
import { Page } from '../../components/page.tsx'
import { Price } from '../../components/price.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { RichText } from '../../components/rich-text.tsx'
import { formatContext } from '../../format/number.ts'
import { formatPerMillion } from '../../format/price.ts'
import { CatalogPanel, catalogModelOptions } from './catalog-panel.tsx'
import { EndpointList, endpointHealthOptions } from './endpoint-list.tsx'

export const screen = createLazyRoute('/models/$author/$slug')({ component: ModelScreen })

function ModelScreen() {
  const { author, slug } = screen.useParams()
  const session = useSession()
  const path = { author, slug }
  const modelOptions = api.queryOptions('get', '/model/{author}/{slug}', { params: { path } })
  const endpointsOptions = api.queryOptions('get', '/models/{author}/{slug}/endpoints', { params: { path } })
  const id = `${author}/${slug}`
  const healthOptions = endpointHealthOptions(id)
  const seesCatalog = mayDoEverywhere(session, 'catalogue:read')
  const model = useQuery(modelOptions)
  const endpoints = useQuery(endpointsOptions)
  const outputs: string[] = model.data?.data.architecture.output_modalities ?? []
  const isText = outputs.includes('text')
  const snippet = outputs.map((output) => callsByOutput[output]?.(id)).find((call) => call !== undefined)
  return (
    <Page
      title={model.data?.data.name ?? id}
      docs="models"
      calls={[
        modelOptions,
        endpointsOptions,
        healthOptions,
        ...(seesCatalog ? [catalogModelOptions(path)] : []),
      ].map(callOf)}
      actions={
        <>
          <Button component={Link} to="/models" variant="default" size="xs">
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
      <QueryView query={endpoints}>
        {({ data }) => <EndpointList model={id} endpoints={data.endpoints} />}
      </QueryView>
      {seesCatalog && <CatalogPanel author={author} slug={slug} />}
      {snippet && <Snippet call={snippet} />}
    </Page>
  )
}

/** Example calls by the output of a model. */
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
        Example request
      </Title>
      <CodeBlock code={curlOf(call)} label="Copy as curl" />
    </>
  )
}

function Summary({ model }: { model: Schemas['Model'] }) {
  const { pricing, architecture } = model
  const facts: [string, ReactNode][] = [
    ['Input, per million tokens', <Price key="in" value={pricing.prompt} />],
    ['Output, per million tokens', <Price key="out" value={pricing.completion} />],
    ['Cache read, per million', <Price key="read" value={pricing.input_cache_read} />],
    ['Cache write, per million', <Price key="write" value={pricing.input_cache_write} />],
    ['Context', model.context_length === null ? '–' : `${formatContext(model.context_length)} tokens`],
    ['Max output', formatTokens(model.top_provider.max_completion_tokens)],
    ['Input', architecture.input_modalities.join(', ')],
    ['Output', architecture.output_modalities.join(', ')],
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
  return tokens === null ? '–' : `${formatContext(tokens)} tokens`
}

function describeOverrides({ overrides = [] }: Schemas['PublicPricing']): string {
  return overrides
    .map(({ min_prompt_tokens: tokens, utc_start, utc_end, prompt, completion }) => {
      const when =
        tokens === undefined
          ? `${utc_start ?? 0} to ${utc_end ?? 24} h UTC`
          : `from ${formatContext(tokens)} tokens`
      return `${when} ${formatPerMillion(prompt)} in and ${formatPerMillion(completion)} out`
    })
    .join('; ')
}

import { Button, Group, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { OverrideTable } from '../../components/override-table.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { endpointWithoutEdit } from './endpoint-tag.ts'

export const screen = createLazyRoute('/models/changes')({ component: EditsScreen })

const pageSize = 20

/** Everything that differs from the built-in catalog and headgate.yaml because of an edit. */
function EditsScreen() {
  const [offset, setOffset] = useState(0)
  const source = 'runtime'
  const providersOptions = api.queryOptions('get', '/catalogue/providers', {
    params: { query: { source, limit: 100 } },
  })
  const modelsOptions = api.queryOptions('get', '/catalogue/models', {
    params: { query: { source, limit: pageSize, ...(offset > 0 && { offset }) } },
  })
  const providers = useQuery(providersOptions)
  const models = useQuery({ ...modelsOptions, placeholderData: keepPreviousData })
  return (
    <Page
      title="Catalog changes"
      docs="catalog"
      description="Changes made in the console or API, compared with the built-in catalog and headgate.yaml."
      calls={[callOf(providersOptions), callOf(modelsOptions)]}
      actions={
        <Button component={Link} to="/models" variant="default" size="xs">
          All models
        </Button>
      }
    >
      <QueryView query={providers}>
        {({ data }) => data.map((provider) => <ProviderEdits key={provider.slug} provider={provider} />)}
      </QueryView>
      <QueryView query={models}>
        {({ data, total_count }) => (
          <Stack>
            {data.map((model) => (
              <ModelEdits key={model.id} model={model} />
            ))}
            {total_count === 0 && providers.data?.total_count === 0 && (
              <EmptyState title="Nothing is edited">
                The models, endpoints and prices are those of the built-in catalog and headgate.yaml. Open a
                model or a provider to change a price or an address, or add a model.
              </EmptyState>
            )}
            <Pager offset={offset} size={pageSize} total={total_count} onChange={setOffset} />
          </Stack>
        )}
      </QueryView>
    </Page>
  )
}

function ProviderEdits({ provider: { slug, edit, base } }: { provider: Schemas['CatalogueProvider'] }) {
  return (
    <Panel
      title={`Provider ${slug}`}
      description={
        <TextLink to="/providers/$slug" params={{ slug }}>
          {base ? 'Open to edit or revert' : 'Added here. Open to edit or delete'}
        </TextLink>
      }
    >
      <Problem text={edit?.problem} />
      {edit?.fields && <OverrideTable fields={edit.fields} base={base} />}
    </Panel>
  )
}

function ModelEdits({ model }: { model: Schemas['CatalogueModel'] }) {
  const [author = '', ...slug] = model.id.split('/')
  return (
    <Panel
      title={model.id}
      description={
        <TextLink to="/models/$author/$slug" params={{ author, slug: slug.join('/') }}>
          {model.base ? 'Open to edit or revert' : 'Added here. Open to edit or delete'}
        </TextLink>
      }
    >
      <Problem text={model.edit?.problem} />
      {model.edit?.fields && <OverrideTable fields={model.edit.fields} base={model.base} />}
      {model.endpoint_edits.map(({ tag, fields, problem }) => (
        <Stack key={tag} gap={4}>
          <Group gap="xs">
            <Text size="sm" fw={600}>
              Endpoint {tag}
            </Text>
          </Group>
          <Problem text={problem} />
          {fields && <OverrideTable fields={fields} base={endpointWithoutEdit(model, tag)} />}
        </Stack>
      ))}
    </Panel>
  )
}

function Problem({ text }: { text: string | null | undefined }) {
  if (!text) return null
  return (
    <Text size="sm" c="red">
      Not in force: {text}
    </Text>
  )
}

import { Button, Checkbox, Group, Pagination, Select, Stack, Table, Text, Tooltip } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { modelsOf } from '../../components/model-picker.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { ScreenFilters } from '../../components/screen-filters.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatContext, formatCount } from '../../format/number.ts'
import { AddModel } from './add-model.tsx'
import { modelFields } from './filter-fields.ts'
import { isSort, type ModelFilters, outputs, pageSize, queryOf, readFilters, sorts } from './filters.ts'
import { PriceCells } from './price-cells.tsx'

export const screen = createLazyRoute('/models')({ component: ModelsScreen })

function ModelsScreen() {
  const filters = screen.useSearch()
  const options = api.queryOptions('get', '/models', { params: { query: queryOf(filters) } })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Models"
      docs="models"
      description="Models that you can use. Prices are in dollars per million tokens."
      calls={[callOf(options)]}
      actions={
        <>
          <SavedViews screen="models" />
          <CatalogActions />
        </>
      }
    >
      <Filters filters={filters} />
      <QueryView query={query}>
        {(reply) => <ModelList models={modelsOf(reply)} total={totalOf(reply)} filters={filters} />}
      </QueryView>
    </Page>
  )
}

/** Actions for members who may edit the catalog. */
function CatalogActions() {
  const session = useSession()
  const [isAdding, setAdding] = useState(false)
  return (
    <>
      {mayDoEverywhere(session, 'catalogue:read') && (
        <Button component={Link} to="/models/changes" variant="default" size="xs">
          Catalog changes
        </Button>
      )}
      {mayDoEverywhere(session, 'catalogue:write') && (
        <Button size="xs" onClick={() => setAdding(true)}>
          Add a model
        </Button>
      )}
      {isAdding && <AddModel onClose={() => setAdding(false)} />}
    </>
  )
}

function totalOf(reply: unknown): number {
  return (reply as Schemas['CatalogueResponse']).total_count
}

/** Every change begins at the first page. */
function useChangeFilters() {
  const navigate = screen.useNavigate()
  return (change: (old: ModelFilters) => ModelFilters) =>
    void navigate({ search: (old: ModelFilters) => change(old), replace: true })
}

function Filters({ filters }: { filters: ModelFilters }) {
  const changeFilters = useChangeFilters()
  const { sort, output, all, page: _, ...texts } = filters
  const set = (name: keyof ModelFilters, value: string | true | null) =>
    changeFilters(({ page: _, [name]: __, ...rest }) => ({ ...rest, ...(value && { [name]: value }) }))
  return (
    <ScreenFilters
      label="Search models"
      placeholder="Name or id, provider:openai input:image context>128k price<5"
      fields={modelFields}
      filters={texts}
      onChange={(next) => changeFilters(() => readFilters({ ...next, sort, output, all }))}
    >
      <Select
        size="xs"
        aria-label="Output"
        data={outputs}
        allowDeselect={false}
        value={output ?? 'text'}
        onChange={(value) => set('output', value === 'text' ? null : value)}
        w={130}
      />
      <Select
        size="xs"
        aria-label="Sort by"
        placeholder="Default order"
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the order' }}
        data={sorts}
        value={sort ?? null}
        onChange={(value) => set('sort', isSort(value) ? value : null)}
        w={150}
      />
      <Checkbox
        size="xs"
        label="Show unconfigured"
        checked={all ?? false}
        onChange={(event) => set('all', event.currentTarget.checked || null)}
        pt={7}
      />
    </ScreenFilters>
  )
}

interface ModelListProps {
  models: Schemas['Model'][]
  total: number
  filters: ModelFilters
}

function ModelList({ models, total, filters }: ModelListProps) {
  const changeFilters = useChangeFilters()
  if (models.length === 0) {
    return (
      <EmptyState title="No models found">
        {filters.all
          ? 'Change the search or the filters.'
          : 'Change the search, or turn on “Show unconfigured” to see models of providers without a credential.'}
      </EmptyState>
    )
  }
  return (
    <Stack>
      <ModelTable models={models} />
      <Group justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {total === 1 ? '1 model' : `${formatCount(total)} models`}
        </Text>
        {total > pageSize && (
          <Pagination
            total={Math.ceil(total / pageSize)}
            value={filters.page ?? 1}
            onChange={(page) => changeFilters((old) => ({ ...old, page }))}
            getControlProps={(control) => ({ 'aria-label': `Go to the ${control} page` })}
          />
        )}
      </Group>
    </Stack>
  )
}

function ModelTable({ models }: { models: Schemas['Model'][] }) {
  return (
    <Table.ScrollContainer minWidth={820}>
      <Table highlightOnHover verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Model</Table.Th>
            <Table.Th>Providers</Table.Th>
            <Table.Th ta="right">Input</Table.Th>
            <Table.Th ta="right">Output</Table.Th>
            <Table.Th ta="right">Cache read</Table.Th>
            <Table.Th ta="right">Context</Table.Th>
            <Table.Th>Modalities</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {models.map((model) => (
            <ModelRow key={model.id} model={model} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function ModelRow({
  model: { id, name, providers = [], pricing, context_length, architecture },
}: {
  model: Schemas['Model']
}) {
  const [author = '', ...slug] = id.split('/')
  return (
    <Table.Tr>
      <Table.Td>
        <TextLink to="/models/$author/$slug" params={{ author, slug: slug.join('/') }}>
          {name}
        </TextLink>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {id}
        </Text>
      </Table.Td>
      <Table.Td maw={180}>
        <ProviderNames slugs={providers} />
      </Table.Td>
      <PriceCells pricing={pricing} />
      <Table.Td ta="right">{context_length === null ? '–' : formatContext(context_length)}</Table.Td>
      <Table.Td>
        <Text size="xs">
          {architecture.input_modalities.join(', ')} → {architecture.output_modalities.join(', ')}
        </Text>
      </Table.Td>
    </Table.Tr>
  )
}

const namedProviders = 2

function ProviderNames({ slugs }: { slugs: string[] }) {
  const others = slugs.slice(namedProviders)
  return (
    <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
      {slugs.slice(0, namedProviders).join(', ') || '–'}
      {others.length > 0 && (
        <Tooltip label={others.join(', ')} multiline maw={320}>
          <span> and {others.length} more</span>
        </Tooltip>
      )}
    </Text>
  )
}

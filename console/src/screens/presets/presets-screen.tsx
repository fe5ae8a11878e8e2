import { Button, Group, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { Copy } from '../../components/copy.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { emptyDraft } from './draft.ts'
import { PresetStatus } from './preset-status.tsx'
import { VersionEditor } from './version-editor.tsx'

export const screen = createLazyRoute('/presets')({ component: PresetsScreen })

const pageSize = 50

function PresetsScreen() {
  const session = useSession()
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const [isCreating, setCreating] = useState(false)
  const options = api.queryOptions('get', '/presets', { params: { query: { offset, limit: pageSize } } })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Presets"
      description="A preset keeps a model, a system prompt and parameters under a name that requests use, so that you can change them without changing applications."
      calls={[callOf(options)]}
      actions={
        mayDo(session, 'presets:write') && (
          <Button size="xs" onClick={() => setCreating(true)}>
            Create a preset
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data, total_count }) => (
          <>
            {data.length === 0 ? (
              <EmptyState title={offset > 0 ? 'No further presets' : 'No presets yet'}>
                A preset appears here once somebody creates one, or saves the settings of the playground as
                one. Applications then send <code>@preset/name</code> in place of a model.
              </EmptyState>
            ) : (
              <PresetTable presets={data} />
            )}
            <Pager
              offset={offset}
              size={pageSize}
              total={total_count}
              onChange={(next) => void navigate({ search: next > 0 ? { offset: next } : {} })}
            />
          </>
        )}
      </QueryView>
      {isCreating && (
        <VersionEditor
          slug={null}
          title="Create a preset"
          initial={emptyDraft}
          onSaved={(slug) => void navigate({ to: '/presets/$slug', params: { slug } })}
          onClose={() => setCreating(false)}
        />
      )}
    </Page>
  )
}

function PresetTable({ presets }: { presets: Schemas['Preset'][] }) {
  return (
    <Table.ScrollContainer minWidth={320}>
      <Table highlightOnHover verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th visibleFrom="sm">Description</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th visibleFrom="xs">Last change</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {presets.map((preset) => (
            <Table.Tr key={preset.id}>
              <Table.Td maw={320} style={{ overflowWrap: 'anywhere' }}>
                <TextLink to="/presets/$slug" params={{ slug: preset.slug }}>
                  {preset.name}
                </TextLink>
                <Group gap={4} wrap="nowrap">
                  <Text size="xs" c="dimmed" ff="monospace">
                    @preset/{preset.slug}
                  </Text>
                  <Copy value={`@preset/${preset.slug}`} label={`Copy the name of ${preset.slug}`} />
                </Group>
              </Table.Td>
              <Table.Td visibleFrom="sm" maw={360} style={{ overflowWrap: 'anywhere' }}>
                <Text size="sm" lineClamp={2}>
                  {preset.description}
                </Text>
              </Table.Td>
              <Table.Td>
                <PresetStatus status={preset.status} />
              </Table.Td>
              <Table.Td visibleFrom="xs">
                <Time iso={preset.updated_at} style="age" />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

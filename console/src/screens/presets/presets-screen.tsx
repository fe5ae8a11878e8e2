import { Group, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { writeOffset } from '../../app/search-params.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { Copy } from '../../components/copy.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
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
  const options = api.queryOptions('get', '/presets', { params: { query: { offset, limit: pageSize } } })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Presets"
      docs="presets"
      description="A model, system prompt and parameters under one name. Change them without changing applications."
      calls={[callOf(options)]}
      actions={
        mayDo(session, 'presets:write') && (
          <DialogButton label="Create a preset" action="create">
            {(close) => (
              <VersionEditor
                slug={null}
                title="Create a preset"
                initial={emptyDraft}
                onSaved={(slug) => void navigate({ to: '/presets/$slug', params: { slug } })}
                onClose={close}
              />
            )}
          </DialogButton>
        )
      }
    >
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) => void navigate({ search: writeOffset(next) })}
        empty={
          <EmptyState title={offset > 0 ? 'No further presets' : 'No presets yet'}>
            Create a preset here, or save the settings of the playground as one. Applications then send{' '}
            <code>@preset/name</code> in place of a model.
          </EmptyState>
        }
      >
        {(rows) => <DataTable columns={columns} rows={rows} keyOf={({ id }) => id} minWidth={320} />}
      </PagedList>
    </Page>
  )
}

const columns: Column<Schemas['Preset']>[] = [
  {
    header: 'Name',
    breaksWords: true,
    maxWidth: 320,
    render: ({ slug, name }) => (
      <>
        <TextLink to="/presets/$slug" params={{ slug }}>
          {name}
        </TextLink>
        <Group gap={4} wrap="nowrap">
          <Text size="xs" c="dimmed" ff="monospace">
            @preset/{slug}
          </Text>
          <Copy value={`@preset/${slug}`} label={`Copy the name of ${slug}`} />
        </Group>
      </>
    ),
  },
  {
    header: 'Description',
    breaksWords: true,
    maxWidth: 360,
    visibleFrom: 'sm',
    render: ({ description }) => (
      <Text size="sm" lineClamp={2}>
        {description}
      </Text>
    ),
  },
  { header: 'Status', render: ({ status }) => <PresetStatus status={status} /> },
  {
    header: 'Last change',
    visibleFrom: 'xs',
    render: ({ updated_at }) => <Time iso={updated_at} style="age" />,
  },
]

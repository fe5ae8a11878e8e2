import { Badge, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { writeOffset, writeText } from '../../app/search-params.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { NothingFound, SearchField } from '../../components/search-field.tsx'
import { NameField } from '../../components/text-field.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { WorkspaceSelect } from '../../components/workspace-select.tsx'
import type { Guardrail } from './draft.ts'
import { Hits, hitsOptions } from './hits.tsx'

export const screen = createLazyRoute('/guardrails')({ component: GuardrailsScreen })

const pageSize = 50

function GuardrailsScreen() {
  const session = useSession()
  const { offset = 0, q = '', workspace } = screen.useSearch()
  const navigate = screen.useNavigate()
  const place = { ...(workspace && { workspace_id: workspace }) }
  const options = api.queryOptions('get', '/guardrails', {
    params: { query: { offset, limit: pageSize, ...place, ...writeText(q) } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Guardrails"
      description="Rules for what requests and replies may contain, which models they may use and what they may cost. They apply to the keys and members that they are assigned to."
      calls={[callOf(options), callOf(hitsOptions(workspace ?? null))]}
      actions={
        mayDo(session, 'guardrails:write') && (
          <DialogButton label="Create a guardrail">
            {(close) => <CreateGuardrail place={place} onClose={close} />}
          </DialogButton>
        )
      }
    >
      <WorkspaceSelect
        label="Workspace"
        placeholder="The default one"
        value={workspace ?? null}
        onChange={(id) => void navigate({ search: id ? { workspace: id } : {} })}
      />
      <SearchField
        label="Search names and descriptions"
        value={q}
        onChange={(text) =>
          void navigate({ search: { ...(workspace && { workspace }), ...writeText(text) } })
        }
      />
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) =>
          void navigate({
            search: { ...(workspace && { workspace }), ...writeText(q), ...writeOffset(next) },
          })
        }
        empty={
          q === '' ? (
            <EmptyState title="No guardrails in this workspace">
              Create one to keep personal data from providers, to block what must not be sent, or to allow
              some models only. You can try it on a text before it has any effect.
            </EmptyState>
          ) : (
            <NothingFound text={q} />
          )
        }
      >
        {(rows) => <DataTable columns={columns} rows={rows} keyOf={({ id }) => id} minWidth={560} />}
      </PagedList>
      <Hits workspaceId={workspace ?? null} />
    </Page>
  )
}

const columns: Column<Guardrail>[] = [
  {
    header: 'Name',
    breaksWords: true,
    render: ({ id, name, description, dry_run }) => (
      <>
        <TextLink to="/guardrails/$id" params={{ id }}>
          {name}
        </TextLink>{' '}
        {dry_run && (
          <Badge color="gray" variant="light" tt="none">
            dry run
          </Badge>
        )}
        <Text size="xs" c="dimmed">
          {description}
        </Text>
      </>
    ),
  },
  { header: 'Filters', render: summarizeFilters },
  { header: 'Changed', render: ({ updated_at }) => <Time iso={updated_at} style="age" /> },
]

function summarizeFilters({ content_filter_builtins, content_filters }: Guardrail): string {
  const builtins = (content_filter_builtins ?? []).map(({ slug, action }) => `${action} ${slug}`)
  const count = content_filters?.length ?? 0
  const patterns = count === 0 ? [] : [count === 1 ? '1 pattern' : `${count} patterns`]
  return [...builtins, ...patterns].join(', ') || 'none'
}

interface CreateGuardrailProps {
  place: { workspace_id?: string }
  onClose: () => void
}

/** Asks for the name only: the rules follow on the page of the guardrail. */
function CreateGuardrail({ place, onClose }: CreateGuardrailProps) {
  const refresh = useRefresh()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const create = async () => {
    const { data } = await client.POST('/guardrails', { body: { name: name.trim(), ...place } })
    await refresh('/guardrails')
    if (data) await navigate({ to: '/guardrails/$id', params: { id: data.data.id } })
  }
  return (
    <FormDialog
      title="Create a guardrail"
      action="Create"
      isReady={name.trim() !== ''}
      onSubmit={create}
      onClose={onClose}
    >
      <NameField
        description="Its rules come next. It has no effect until it is assigned to a key or a member."
        maxLength={200}
        value={name}
        onChange={setName}
      />
    </FormDialog>
  )
}

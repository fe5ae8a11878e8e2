import { Badge, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { writeOffset, writeText } from '../../app/search-params.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
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
import { useWorkspaceColumn } from '../../components/workspace-column.tsx'
import { TargetWorkspace } from '../../components/workspace-scope.tsx'
import type { Guardrail } from './draft.ts'
import { Hits, hitsOptions } from './hits.tsx'

export const screen = createLazyRoute('/guardrails')({ component: GuardrailsScreen })

const pageSize = 50

function GuardrailsScreen() {
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const { offset = 0, q = '' } = screen.useSearch()
  const navigate = screen.useNavigate()
  const place = workspaceId === null ? {} : { workspace_id: workspaceId }
  const options = api.queryOptions('get', '/guardrails', {
    params: { query: { offset, limit: pageSize, ...place, ...writeText(q) } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Guardrails"
      docs="guardrails"
      description="Rules for the content, models and cost of requests. Assign them to keys and members."
      scope="listed"
      calls={[callOf(options), callOf(hitsOptions(workspaceId))]}
      actions={
        mayDo(session, 'guardrails:write') && (
          <DialogButton label="Create a guardrail" action="create">
            {(close) => <CreateGuardrail onClose={close} />}
          </DialogButton>
        )
      }
    >
      <SearchField
        label="Search names and descriptions"
        value={q}
        onChange={(text) => void navigate({ search: writeText(text) })}
      />
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={(next) => void navigate({ search: { ...writeText(q), ...writeOffset(next) } })}
        empty={
          q === '' ? (
            <EmptyState title="No guardrails">
              Create one to keep personal data from providers, to block what must not be sent, or to allow
              some models only. You can test it before it takes effect.
            </EmptyState>
          ) : (
            <NothingFound text={q} />
          )
        }
      >
        {(rows) => <GuardrailTable rows={rows} />}
      </PagedList>
      <Hits workspaceId={workspaceId} />
    </Page>
  )
}

function GuardrailTable({ rows }: { rows: Guardrail[] }) {
  const column = useWorkspaceColumn<Guardrail>(rows.map(({ workspace_id }) => workspace_id))
  return <DataTable columns={[...columns, ...column]} rows={rows} keyOf={({ id }) => id} minWidth={560} />
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

/** Asks for the name only: the rules follow on the page of the guardrail. */
function CreateGuardrail({ onClose }: { onClose: () => void }) {
  const { current } = useWorkspace()
  const [workspaceId, setWorkspaceId] = useState(current?.id ?? null)
  const refresh = useRefresh()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const create = async () => {
    const place = workspaceId === null ? {} : { workspace_id: workspaceId }
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
      <TargetWorkspace value={workspaceId} onChange={setWorkspaceId} />
    </FormDialog>
  )
}

import { Badge, Button, Table, Text, TextInput } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, client } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { WorkspaceSelect } from '../../components/workspace-select.tsx'
import type { Guardrail } from './draft.ts'
import { Hits, hitsOptions } from './hits.tsx'

export const screen = createLazyRoute('/guardrails')({ component: GuardrailsScreen })

const pageSize = 50

function GuardrailsScreen() {
  const session = useSession()
  const { offset = 0, workspace } = screen.useSearch()
  const navigate = screen.useNavigate()
  const [isCreating, setCreating] = useState(false)
  const place = { ...(workspace && { workspace_id: workspace }) }
  const options = api.queryOptions('get', '/guardrails', {
    params: { query: { offset, limit: pageSize, ...place } },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  return (
    <Page
      title="Guardrails"
      description="Rules for what requests and replies may contain, which models they may use and what they may cost. They apply to the keys and members that they are assigned to."
      calls={[callOf(options), callOf(hitsOptions(workspace ?? null))]}
      actions={
        mayDo(session, 'guardrails:write') && (
          <Button size="xs" onClick={() => setCreating(true)}>
            Create a guardrail
          </Button>
        )
      }
    >
      <WorkspaceSelect
        label="Workspace"
        placeholder="The default one"
        value={workspace ?? null}
        onChange={(id) => void navigate({ search: id ? { workspace: id } : {} })}
      />
      <QueryView query={query}>
        {({ data, total_count }) => (
          <>
            {data.length === 0 ? (
              <EmptyState title="No guardrails in this workspace">
                Create one to keep personal data from providers, to block what must not be sent, or to allow
                some models only. You can try it on a text before it has any effect.
              </EmptyState>
            ) : (
              <GuardrailTable guardrails={data} />
            )}
            <Pager
              offset={offset}
              size={pageSize}
              total={total_count}
              onChange={(next) =>
                void navigate({
                  search: { ...(workspace && { workspace }), ...(next > 0 && { offset: next }) },
                })
              }
            />
          </>
        )}
      </QueryView>
      <Hits workspaceId={workspace ?? null} />
      {isCreating && <CreateGuardrail place={place} onClose={() => setCreating(false)} />}
    </Page>
  )
}

function GuardrailTable({ guardrails }: { guardrails: Guardrail[] }) {
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Filters</Table.Th>
            <Table.Th>Changed</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {guardrails.map((guardrail) => (
            <Table.Tr key={guardrail.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <TextLink to="/guardrails/$id" params={{ id: guardrail.id }}>
                  {guardrail.name}
                </TextLink>{' '}
                {guardrail.dry_run && (
                  <Badge color="gray" variant="light" tt="none">
                    dry run
                  </Badge>
                )}
                <Text size="xs" c="dimmed">
                  {guardrail.description}
                </Text>
              </Table.Td>
              <Table.Td>{summarizeFilters(guardrail)}</Table.Td>
              <Table.Td>
                <Time iso={guardrail.updated_at} style="age" />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

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
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const create = async () => {
    const { data } = await client.POST('/guardrails', { body: { name: name.trim(), ...place } })
    await queryClient.invalidateQueries({ queryKey: ['get', '/guardrails'] })
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
      <TextInput
        label="Name"
        description="Its rules come next. It has no effect until it is assigned to a key or a member."
        required
        data-autofocus
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </FormDialog>
  )
}

import { Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../../api/client.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { failuresQuery, type Selection } from './queries.ts'

type LoggedRequest = Schemas['LoggedRequest']

const skeletonRows = ['first', 'second', 'third', 'fourth']

/** The newest requests that failed or were refused. */
export function LatestFailures({ selection }: { selection: Selection }) {
  const query = useQuery(failuresQuery(selection))
  return (
    <Panel
      title="Latest failures"
      actions={
        <TextLink
          to="/requests"
          search={{ status: 'error', period: '7d' }}
          size="sm"
          aria-label="All failed and refused requests"
        >
          All
        </TextLink>
      }
    >
      {query.isPending ? (
        <Stack gap="sm" aria-busy="true" aria-label="Loading">
          {skeletonRows.map((row) => (
            <Skeleton key={row} height={24} />
          ))}
        </Stack>
      ) : (
        <QueryView query={query}>
          {({ data, cursor }) =>
            data.length > 0 ? (
              <DataTable columns={columns} rows={data} keyOf={({ id }) => id} minWidth={300} />
            ) : (
              <Text size="sm" c="dimmed">
                {cursor === null
                  ? 'No request failed or was refused in the last 7 days.'
                  : 'None of the newest requests failed.'}
              </Text>
            )
          }
        </QueryView>
      )}
    </Panel>
  )
}

const columns: Column<LoggedRequest>[] = [
  {
    header: 'Time',
    render: ({ id, created_at }) => (
      <TextLink to="/requests/$id" params={{ id }} size="sm" style={{ whiteSpace: 'nowrap' }}>
        <Time iso={created_at} style="age" />
      </TextLink>
    ),
  },
  { header: 'Status', visibleFrom: 'sm', render: ({ status }) => <StatusBadge status={status} /> },
  {
    header: 'Error',
    breaksWords: true,
    maxWidth: 420,
    render: ({ error_code, message, requests }) => (
      <Text size="sm" lineClamp={2} component="div">
        {message ?? error_code ?? 'canceled'}
        {requests > 1 && ` (${requests} times)`}
      </Text>
    ),
  },
  {
    header: 'Model',
    breaksWords: true,
    visibleFrom: 'sm',
    render: ({ model, requested_model }) => model ?? requested_model ?? '–',
  },
  { header: 'Key', breaksWords: true, visibleFrom: 'md', render: ({ key }) => key?.name ?? '–' },
  {
    header: 'Workspace',
    visibleFrom: 'lg',
    render: ({ workspace }) => (
      <Text size="sm" truncate maw={160}>
        {workspace.name ?? workspace.id}
      </Text>
    ),
  },
]

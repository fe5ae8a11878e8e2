import { Skeleton, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { writeOffset } from '../../app/search-params.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { useWorkspaceColumn } from '../../components/workspace-column.tsx'
import { formatCount } from '../../format/number.ts'
import { CreateDestination } from './create-destination.tsx'
import { type Destination, kindOf, nameOf } from './kinds.ts'
import { statusOptions } from './queries.ts'
import { StateBadge } from './state-badge.tsx'

export const screen = createLazyRoute('/observability')({ component: DestinationsScreen })

/** The state of each is a call of its own. */
const pageSize = 20

function DestinationsScreen() {
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const options = api.queryOptions('get', '/observability/destinations', {
    params: {
      query: { offset, limit: pageSize, ...(workspaceId !== null && { workspace_id: workspaceId }) },
    },
  })
  const query = useQuery({ ...options, placeholderData: keepPreviousData })
  const first = query.data?.data[0]
  return (
    <Page
      title="Observability"
      docs="observability"
      scope="listed"
      description="Reports completed requests of a workspace to an OpenTelemetry collector, a tracing product, a database, a bucket or a webhook."
      calls={[callOf(options), ...(first ? [callOf(statusOptions(first.id))] : [])]}
      actions={
        mayDo(session, 'destinations:write') && (
          <DialogButton label="Add a destination" action="add">
            {(close) => <CreateDestination onClose={close} />}
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
          <EmptyState title="No destinations">
            Send every request to the tools that your team already uses. Prompts can be left out, and requests
            are not delayed.
          </EmptyState>
        }
      >
        {(rows) => <DestinationTable rows={rows} />}
      </PagedList>
    </Page>
  )
}

function DestinationTable({ rows }: { rows: Destination[] }) {
  const column = useWorkspaceColumn<Destination>(rows.map(({ workspace_id }) => workspace_id))
  return <DataTable columns={[...columns, ...column]} rows={rows} keyOf={({ id }) => id} minWidth={340} />
}

type Status = Schemas['ObservabilityDeliveryStatus']

interface StatusCellProps {
  id: string
  children: (status: Status) => ReactNode
}

/** The cells of a row share one query. */
function StatusCell({ id, children }: StatusCellProps) {
  const { data, error } = useQuery(statusOptions(id))
  if (data) return children(data.data)
  return error === null ? <Skeleton height={20} width={50} /> : '–'
}

const columns: Column<Destination>[] = [
  {
    header: 'Name',
    breaksWords: true,
    maxWidth: 300,
    render: (destination) => (
      <>
        <TextLink to="/observability/$id" params={{ id: destination.id }}>
          {nameOf(destination)}
        </TextLink>
        <Text size="xs" c="dimmed">
          {kindOf(destination.type).label}
        </Text>
      </>
    ),
  },
  {
    header: 'State',
    render: ({ id }) => <StatusCell id={id}>{({ state }) => <StateBadge state={state} />}</StatusCell>,
  },
  {
    header: 'Waiting',
    isNumber: true,
    render: ({ id }) => <StatusCell id={id}>{({ queued }) => formatCount(queued)}</StatusCell>,
  },
  {
    header: 'Failed',
    isNumber: true,
    visibleFrom: 'sm',
    render: ({ id }) => <StatusCell id={id}>{({ failed }) => formatCount(failed)}</StatusCell>,
  },
  {
    header: 'Last delivery',
    visibleFrom: 'sm',
    render: ({ id }) => (
      <StatusCell id={id}>
        {({ last_success_at }) => (last_success_at ? <Time iso={last_success_at} style="age" /> : 'never')}
      </StatusCell>
    ),
  },
]

import { Button, Skeleton, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'
import { CreateDestination } from './create-destination.tsx'
import { type Destination, kindOf } from './kinds.ts'
import { statusOptions } from './queries.ts'
import { StateBadge } from './state-badge.tsx'

export const screen = createLazyRoute('/destinations')({ component: DestinationsScreen })

/** The state of each is a call of its own. */
const pageSize = 20

function DestinationsScreen() {
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const { offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const [isCreating, setCreating] = useState(false)
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
      description="Where the finished requests of the workspace are reported: an OpenTelemetry collector, a tracing product, a database, a bucket or a webhook."
      calls={[callOf(options), ...(first ? [callOf(statusOptions(first.id))] : [])]}
      actions={
        mayDo(session, 'destinations:write') && (
          <Button size="xs" onClick={() => setCreating(true)}>
            Add a destination
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data, total_count }) => (
          <>
            {data.length === 0 ? (
              <EmptyState title="No destinations in this workspace">
                Add one to see every request in the tool that your team already uses. Requests are never
                delayed by it, and prompts can be left out.
              </EmptyState>
            ) : (
              <DestinationTable destinations={data} />
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
      {isCreating && <CreateDestination onClose={() => setCreating(false)} />}
    </Page>
  )
}

function DestinationTable({ destinations }: { destinations: Destination[] }) {
  return (
    <Table.ScrollContainer minWidth={340}>
      <Table highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Waiting</Table.Th>
            <Table.Th visibleFrom="sm">Failed</Table.Th>
            <Table.Th visibleFrom="sm">Last delivery</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {destinations.map((destination) => (
            <DestinationRow key={destination.id} destination={destination} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function DestinationRow({ destination: { id, name, type } }: { destination: Destination }) {
  const { data } = useQuery(statusOptions(id))
  const status = data?.data
  return (
    <Table.Tr>
      <Table.Td maw={300} style={{ overflowWrap: 'anywhere' }}>
        <TextLink to="/destinations/$id" params={{ id }}>
          {name ?? kindOf(type).label}
        </TextLink>
        <Text size="xs" c="dimmed">
          {kindOf(type).label}
        </Text>
      </Table.Td>
      <Table.Td>
        {status ? <StateBadge state={status.state} /> : <Skeleton height={20} width={70} />}
      </Table.Td>
      <Table.Td>{status && formatCount(status.queued)}</Table.Td>
      <Table.Td visibleFrom="sm">{status && formatCount(status.failed)}</Table.Td>
      <Table.Td visibleFrom="sm">
        {status && (status.last_success_at ? <Time iso={status.last_success_at} style="age" /> : 'never')}
      </Table.Td>
    </Table.Tr>
  )
}

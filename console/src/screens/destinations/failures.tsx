import { Table, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client } from '../../api/client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Pager } from '../../components/pager.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'
import type { Destination } from './kinds.ts'
import { useRefresh } from './queries.ts'

const pageSize = 20

export function failuresOptions(id: string, offset: number) {
  return api.queryOptions('get', '/observability/destinations/{id}/failures', {
    params: { path: { id }, query: { offset, limit: pageSize } },
  })
}

interface FailuresProps {
  destination: Destination
  mayChange: boolean
}

/** The events that the destination rejected. */
export function Failures({ destination: { id }, mayChange }: FailuresProps) {
  const [offset, setOffset] = useState(0)
  const refresh = useRefresh()
  const query = useQuery({ ...failuresOptions(id, offset), placeholderData: keepPreviousData })
  const total = query.data?.total_count ?? 0
  const redeliver = async (eventId?: string) => {
    const { data } = await client.POST('/observability/destinations/{id}/redeliver', {
      params: { path: { id } },
      body: eventId === undefined ? {} : { event_ids: [eventId] },
    })
    const count = data?.data.requeued ?? 0
    notifications.show({
      message: count === 1 ? '1 event waits to be sent.' : `${formatCount(count)} events wait to be sent.`,
    })
    setOffset(0)
    await refresh()
  }
  return (
    <Panel
      title="Failures"
      description="Events that the destination rejected. The newest 1,000 are kept; they are sent again only on request."
      actions={
        mayChange && total > 0 && <ActionButton onAction={() => redeliver()}>Send all again</ActionButton>
      }
    >
      <QueryView query={query}>
        {({ data, total_count }) =>
          total_count === 0 ? (
            <Text size="sm">None.</Text>
          ) : (
            <>
              <FailureTable failures={data} {...(mayChange && { onRedeliver: redeliver })} />
              <Pager offset={offset} size={pageSize} total={total_count} onChange={setOffset} />
            </>
          )
        }
      </QueryView>
    </Panel>
  )
}

interface FailureTableProps {
  failures: { event_id: string; error: string | null; attempts: number; created_at: string }[]
  onRedeliver?: (eventId: string) => Promise<void>
}

function FailureTable({ failures, onRedeliver }: FailureTableProps) {
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Request</Table.Th>
            <Table.Th>Error</Table.Th>
            <Table.Th>Attempts</Table.Th>
            <Table.Th>Queued</Table.Th>
            {onRedeliver && <Table.Th>Action</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {failures.map(({ event_id, error, attempts, created_at }) => (
            <Table.Tr key={event_id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <TextLink to="/requests/$id" params={{ id: event_id }}>
                  {event_id}
                </TextLink>
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{error ?? '–'}</Table.Td>
              <Table.Td>{formatCount(attempts)}</Table.Td>
              <Table.Td>
                <Time iso={created_at} style="age" />
              </Table.Td>
              {onRedeliver && (
                <Table.Td>
                  <ActionButton label={`Send ${event_id} again`} onAction={() => onRedeliver(event_id)}>
                    Send again
                  </ActionButton>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

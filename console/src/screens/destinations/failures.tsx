import { Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client } from '../../api/client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { Panel } from '../../components/panel.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'
import type { Destination } from './kinds.ts'
import { useDestinationRefresh } from './queries.ts'

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
  const refresh = useDestinationRefresh()
  const query = useQuery({ ...failuresOptions(id, offset), placeholderData: keepPreviousData })
  const redeliver = async (eventId?: string) => {
    const { data } = await client.POST('/observability/destinations/{id}/redeliver', {
      params: { path: { id } },
      body: eventId === undefined ? {} : { event_ids: [eventId] },
    })
    const count = data?.data.requeued ?? 0
    const text = count === 1 ? '1 event waits' : `${formatCount(count)} events wait`
    notifications.show({ message: `${text} to be sent.` })
    setOffset(0)
    await refresh()
  }
  return (
    <Panel
      title="Failures"
      description="Events that the destination rejected. The newest 1,000 are kept; they are sent again only on request."
      actions={
        mayChange &&
        (query.data?.total_count ?? 0) > 0 && (
          <ActionButton onAction={() => redeliver()}>Send all again</ActionButton>
        )
      }
    >
      <PagedList
        query={query}
        offset={offset}
        size={pageSize}
        onPage={setOffset}
        empty={<Text size="sm">None.</Text>}
      >
        {(rows) => (
          <DataTable
            rows={rows}
            keyOf={({ event_id }) => event_id}
            minWidth={560}
            columns={[
              {
                header: 'Request',
                breaksWords: true,
                render: ({ event_id }) => (
                  <TextLink to="/requests/$id" params={{ id: event_id }}>
                    {event_id}
                  </TextLink>
                ),
              },
              { header: 'Error', breaksWords: true, render: ({ error }) => error ?? '–' },
              { header: 'Attempts', isNumber: true, render: ({ attempts }) => formatCount(attempts) },
              { header: 'Queued', render: ({ created_at }) => <Time iso={created_at} style="age" /> },
              mayChange && {
                header: 'Action',
                isHeaderHidden: true,
                render: ({ event_id }) => (
                  <ActionButton label={`Send again: ${event_id}`} onAction={() => redeliver(event_id)}>
                    Send again
                  </ActionButton>
                ),
              },
            ]}
          />
        )}
      </PagedList>
    </Panel>
  )
}

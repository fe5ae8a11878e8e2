import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, type Schemas } from '../../api/client.ts'
import { DataTable } from '../../components/data-table.tsx'
import { escapeFilterValue } from '../../components/filter-value.ts'
import { Money } from '../../components/money.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { rememberRequestList } from '../../components/request-list.ts'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'

type LoggedRequest = Schemas['LoggedRequest']

const readRequests = 50
const shownRequests = 10

/** The latest requests, and the sessions that they belong to. */
export function LatestRequests({ name }: { name: string }) {
  const external_user = escapeFilterValue(name)
  const query = useQuery(
    api.queryOptions('get', '/generations', { params: { query: { external_user, limit: readRequests } } }),
  )
  return (
    <>
      <Panel
        title="Latest requests"
        actions={
          <TextLink to="/requests" search={{ external_user, period: '30d' }}>
            Show all
          </TextLink>
        }
      >
        <QueryView query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Text size="sm">None in the requests searched.</Text>
            ) : (
              <RequestRows requests={data.slice(0, shownRequests)} />
            )
          }
        </QueryView>
      </Panel>
      {query.data && <Sessions requests={query.data.data} />}
    </>
  )
}

function RequestRows({ requests }: { requests: LoggedRequest[] }) {
  return (
    <DataTable
      rows={requests}
      keyOf={({ id }) => id}
      minWidth={340}
      columns={[
        {
          header: 'Time',
          render: ({ id, created_at }) => (
            <TextLink
              to="/requests/$id"
              params={{ id }}
              onClick={() =>
                rememberRequestList(
                  requests.map(({ id }) => id),
                  id,
                )
              }
            >
              <Time iso={created_at} style="age" />
            </TextLink>
          ),
        },
        { header: 'Status', render: ({ status }) => <StatusBadge status={status} /> },
        {
          header: 'Model',
          breaksWords: true,
          visibleFrom: 'xs',
          render: ({ model, requested_model }) => model ?? requested_model ?? '–',
        },
        { header: 'Cost', isNumber: true, render: ({ cost }) => <Money value={cost} /> },
      ]}
    />
  )
}

interface SessionSummary {
  id: string
  at: string
  requests: number
  cost: number
}

function summarize(requests: LoggedRequest[]): SessionSummary[] {
  const sessions = new Map<string, SessionSummary>()
  for (const { session_id, created_at, cost } of requests) {
    if (session_id === null) continue
    const known = sessions.get(session_id) ?? { id: session_id, at: created_at, requests: 0, cost: 0 }
    sessions.set(session_id, { ...known, requests: known.requests + 1, cost: known.cost + cost })
  }
  return [...sessions.values()]
}

function Sessions({ requests }: { requests: LoggedRequest[] }) {
  const sessions = summarize(requests)
  if (sessions.length === 0) return null
  return (
    <Panel title="Latest sessions" description={`Those of the latest ${requests.length} requests.`}>
      <DataTable
        rows={sessions}
        keyOf={({ id }) => id}
        minWidth={340}
        columns={[
          {
            header: 'Session',
            breaksWords: true,
            render: ({ id, at }) => (
              <TextLink to="/sessions/$id" params={{ id }} search={{ at }}>
                {id}
              </TextLink>
            ),
          },
          { header: 'Last request', visibleFrom: 'xs', render: ({ at }) => <Time iso={at} style="age" /> },
          { header: 'Requests', isNumber: true, render: ({ requests: count }) => count },
          { header: 'Cost', isNumber: true, render: ({ cost }) => <Money value={cost} /> },
        ]}
      />
    </Panel>
  )
}

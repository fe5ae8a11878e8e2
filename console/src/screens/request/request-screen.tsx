import { Paper, SimpleGrid, Stack } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Fact } from '../../components/fact.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, formatDuration } from '../../format/number.ts'
import { ContentView } from './content-view.tsx'
import { ExplanationView } from './explanation-view.tsx'
import { RequestActions } from './request-actions.tsx'

export const screen = createLazyRoute('/requests/$id')({ component: RequestScreen })

function RequestScreen() {
  const { id } = screen.useParams()
  const navigate = screen.useNavigate()
  const session = useSession()
  const params = { query: { id } }
  // The list has refused requests as well, and the names of keys and members.
  const listed = api.queryOptions('get', '/generations', { params: { query: { id, limit: 1 } } })
  const explained = api.queryOptions('get', '/generation/explanation', { params })
  const recorded = api.queryOptions('get', '/generation', { params })
  const stored = api.queryOptions('get', '/generation/content', { params }, { retry: false })
  const summary = useQuery(listed)
  const explanation = useQuery(explained)
  const request = summary.data?.data[0]
  const reachedProvider = request !== undefined && request.status !== 'refused'
  const record = useQuery({ ...recorded, enabled: reachedProvider })
  const mayRead = reachedProvider && mayDo(session, 'contents:read')
  const [shownId, setShownId] = useState<string | null>(null)
  const content = useQuery({ ...stored, enabled: mayRead && shownId === id })
  useEscape()
  return (
    <Page
      title={request?.requested_model ?? 'Request'}
      description="Why this request was routed, priced or refused so. Escape leads back."
      calls={[listed, explained, ...(reachedProvider ? [recorded] : []), ...(mayRead ? [stored] : [])].map(
        callOf,
      )}
      actions={
        request &&
        content.data && (
          <RequestActions
            request={request}
            content={content.data.data}
            onRepeat={(next) => void navigate({ to: '/requests/$id', params: { id: next } })}
          />
        )
      }
    >
      <Stack>
        <QueryView query={summary}>
          {({ data: [found] }) =>
            found ? (
              <Summary request={found} record={record.data?.data} />
            ) : (
              <EmptyState title="No such request">It does not exist, or you may not see it.</EmptyState>
            )
          }
        </QueryView>
        {request && (
          <QueryView query={explanation}>{({ data }) => <ExplanationView explanation={data} />}</QueryView>
        )}
        {mayRead && <ContentView query={content} isWanted={shownId === id} onShow={() => setShownId(id)} />}
      </Stack>
    </Page>
  )
}

/** Escape leads back. */
function useEscape() {
  const navigate = screen.useNavigate()
  const { history } = useRouter()
  const leave = () => {
    // Escape closes what is open on the screen first.
    if (document.querySelector('[role="dialog"]')) return
    if (history.canGoBack()) history.back()
    else void navigate({ to: '/requests' })
  }
  useHotkeys([['Escape', leave]])
}

interface SummaryProps {
  request: Schemas['LoggedRequest']
  record: Schemas['Generation'] | undefined
}

function Summary({ request, record }: SummaryProps) {
  const { tokens_prompt, tokens_completion, tokens_cached } = request
  const tokens =
    tokens_prompt === null
      ? '–'
      : `${formatCount(tokens_prompt)} in (${formatCount(tokens_cached ?? 0)} cached), ${formatCount(tokens_completion ?? 0)} out`
  return (
    <Paper withBorder p="md">
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Fact label="Status">
          <StatusBadge status={request.status} /> {request.error_code}
        </Fact>
        <Fact label="Time">
          <Time iso={request.created_at} />
        </Fact>
        <Fact label="Served by">
          {request.provider_name === null ? 'no provider' : `${request.provider_name} · ${request.model}`}
        </Fact>
        <Fact label="Charged">
          <Money value={request.cost} />
          {request.is_cached && ' (response cache)'}
        </Fact>
        <Fact label="Tokens">{tokens}</Fact>
        <Fact label="Duration">
          {formatDuration(request.latency)}
          {request.first_token !== null && `, first token after ${formatDuration(request.first_token)}`}
        </Fact>
        <Fact label="Key">{request.key?.name ?? 'none, or deleted'}</Fact>
        <Fact label="Member">{request.user?.name ?? request.user?.id ?? '–'}</Fact>
        <Fact label="Workspace">{request.workspace.name ?? request.workspace.id}</Fact>
        <Fact label="Format">
          {request.format ?? 'not read'}
          {request.streamed && ', streamed'}
        </Fact>
        <Fact label="App">{request.app?.title ?? request.app?.url ?? '–'}</Fact>
        <Fact label="Finish reason">{request.finish_reason ?? '–'}</Fact>
        {record && <Fact label="Client">{record.user_agent ?? '–'}</Fact>}
        {record && <Fact label="Format of the provider">{record.headgate.upstream_format ?? '–'}</Fact>}
        {record && <Fact label="Id at the provider">{record.upstream_id ?? '–'}</Fact>}
        {request.session_id !== null && <Fact label="Session">{request.session_id}</Fact>}
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }} pt="md">
        <Fact label="Generation id">
          <Id value={request.id} />
        </Fact>
        {request.request_id !== null && (
          <Fact label="Request id, as in the logs of the server">
            <Id value={request.request_id} label="Copy the request id" />
          </Fact>
        )}
      </SimpleGrid>
    </Paper>
  )
}

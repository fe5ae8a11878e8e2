import { Stack } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { ContentView } from './content-view.tsx'
import { ExplanationView } from './explanation-view.tsx'
import { Failure } from './failure.tsx'
import { RaiseRefusingLimit } from './raise-refusing-limit.tsx'
import { RequestActions } from './request-actions.tsx'
import { Summary } from './summary.tsx'

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
  const refusal = explanation.data?.data.refusal
  const reachedProvider = request !== undefined && request.status !== 'refused'
  const record = useQuery({ ...recorded, enabled: reachedProvider })
  const mayRead = reachedProvider && mayDo(session, 'contents:read')
  const [shownId, setShownId] = useState<string | null>(null)
  const content = useQuery({ ...stored, enabled: mayRead && shownId === id })
  useEscape()
  return (
    <Page
      title={request?.requested_model ?? 'Request'}
      description="Why this request was routed, priced, rejected or failed as it was."
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
        <TextLink to="/requests">← All requests</TextLink>
        {explanation.data && <Failure explanation={explanation.data.data} />}
        <QueryView query={summary}>
          {({ data: [found] }) =>
            found ? (
              <Summary request={found} record={record.data?.data} />
            ) : (
              <EmptyState title="No such request">It does not exist, or you may not see it.</EmptyState>
            )
          }
        </QueryView>
        {request && refusal && <RaiseRefusingLimit request={request} refusal={refusal} />}
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

import { Button, CopyButton, Stack } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ButtonLink } from '../../components/button-link.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { CompareDialog } from './compare-dialog.tsx'
import { ContentView } from './content-view.tsx'
import { ExplanationView } from './explanation-view.tsx'
import { Failure } from './failure.tsx'
import { Neighbors } from './neighbors.tsx'
import { RaiseRefusingLimit } from './raise-refusing-limit.tsx'
import { Refusal } from './refusal.tsx'
import { RequestActions } from './request-actions.tsx'
import { similarSearch } from './similar.ts'
import { Summary } from './summary.tsx'
import { useNestedRequests } from './use-nested-requests.ts'
import { waterfallOf } from './waterfall.ts'
import { WaterfallView } from './waterfall-view.tsx'

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
  const lines = record.data?.data.headgate.lines ?? []
  const nested = useNestedRequests(lines)
  useEscape()
  return (
    <Page
      title={request?.requested_model ?? 'Request'}
      docs="records"
      description="Why this request was routed, priced, rejected or failed as it was."
      calls={[listed, explained, ...(reachedProvider ? [recorded] : []), ...(mayRead ? [stored] : [])].map(
        callOf,
      )}
      actions={
        request && (
          <HeaderActions
            request={request}
            content={content.data?.data}
            onRepeat={(next) => void navigate({ to: '/requests/$id', params: { id: next } })}
          />
        )
      }
    >
      <Stack>
        <Neighbors id={id} />
        {explanation.data && <Failure explanation={explanation.data.data} />}
        {refusal && <Refusal refusal={refusal} />}
        {request && refusal && <RaiseRefusingLimit request={request} refusal={refusal} />}
        {mayRead && <ContentView query={content} isWanted={shownId === id} onShow={() => setShownId(id)} />}
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
          <QueryView query={explanation}>
            {({ data }) => (
              <>
                <WaterfallView waterfall={waterfallOf({ explanation: data, lines, nested })} />
                <ExplanationView explanation={data} />
              </>
            )}
          </QueryView>
        )}
      </Stack>
    </Page>
  )
}

interface HeaderActionsProps {
  request: Schemas['LoggedRequest']
  /** Undefined until it is shown. */
  content: Schemas['GenerationContent'] | undefined
  onRepeat: (id: string) => void
}

function HeaderActions({ request, content, onRepeat }: HeaderActionsProps) {
  return (
    <>
      {content && <RequestActions request={request} content={content} onRepeat={onRepeat} />}
      <ButtonLink to="/requests" search={similarSearch(request)} title="Same model, key, status and error">
        Requests like this
      </ButtonLink>
      <DialogButton label="Compare" variant="default">
        {(close) => <CompareDialog request={request} onClose={close} />}
      </DialogButton>
      <CopyLink id={request.id} />
    </>
  )
}

function CopyLink({ id }: { id: string }) {
  return (
    <CopyButton value={new URL(`requests/${encodeURIComponent(id)}`, document.baseURI).href}>
      {({ copied, copy }) => (
        <Button size="xs" variant="default" onClick={copy}>
          {copied ? 'Copied' : 'Copy link'}
        </Button>
      )}
    </CopyButton>
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

import { Button, Skeleton } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { createLazyRoute } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { callOf } from '../../api/call.ts'
import { mayDo, mayDoEverywhere, type Session, useSession } from '../../app/session.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page } from '../../components/page.tsx'
import { Checklist, type Step } from './checklist.tsx'
import { InviteStep } from './invite-step.tsx'
import { KeyStep } from './key-step.tsx'
import { creditsOptions, Overview, todayOptions, unreadOptions } from './overview.tsx'
import { ProviderStep } from './provider-step.tsx'
import { RequestStep } from './request-step.tsx'
import { SnippetStep } from './snippet-step.tsx'
import { type Progress, useProgress } from './use-progress.ts'

export const screen = createLazyRoute('/')({ component: HomeScreen })

/** The checklist until everything is done or it is hidden, then an overview. */
function HomeScreen() {
  const session = useSession()
  const progress = useProgress()
  const [secret, setSecret] = useState<string | null>(null)
  const [view, setView] = useLocalStorage<'auto' | 'checklist' | 'overview'>({
    key: 'headgate-home',
    defaultValue: 'auto',
    getInitialValueInEffect: false,
  })
  const steps = listSteps(session, progress, secret, setSecret)
  const isComplete = !progress.isLoading && steps.every(({ isDone }) => isDone)
  // Decided once: a secret or a link that a step shows must not disappear with the last tick.
  const wasComplete = useRef<boolean | null>(null)
  if (wasComplete.current === null && !progress.isLoading) wasComplete.current = isComplete
  const isOverview = view === 'overview' || (view === 'auto' && wasComplete.current === true)
  if (isOverview) {
    return (
      <Page
        title="Home"
        calls={[creditsOptions, todayOptions(), unreadOptions].map(callOf)}
        actions={
          <Button variant="default" size="xs" onClick={() => setView('checklist')}>
            Show the checklist
          </Button>
        }
      >
        <Overview />
      </Page>
    )
  }
  return (
    <Page
      title="Get started"
      description="Set up a provider, create a key and send your first request."
      calls={progress.calls}
      actions={
        <Button variant="default" size="xs" onClick={() => setView('overview')}>
          {isComplete ? 'Show the overview' : 'Hide the checklist'}
        </Button>
      }
    >
      {progress.error !== null && <ErrorNotice error={progress.error} />}
      {progress.isLoading ? (
        <Skeleton height={320} aria-label="Loading" />
      ) : (
        <Checklist key={secret} steps={steps} openStep={secret === null ? undefined : 'connect'} />
      )}
    </Page>
  )
}

/** Lists the steps that the role allows. */
function listSteps(
  session: Session,
  progress: Progress,
  secret: string | null,
  onCreate: (secret: string) => void,
): Step[] {
  const providers = [...progress.installed, ...progress.byok.map(({ provider }) => provider)]
  const isRequested = progress.requestCount > 0
  const steps: (Step | false)[] = [
    (mayDo(session, 'byok:write') || providers.length > 0) && {
      id: 'provider',
      title: 'Add a provider',
      summary:
        providers.length > 0
          ? `Ready: ${[...new Set(providers)].join(', ')}`
          : 'Optional: the sandbox works without one',
      isDone: providers.length > 0,
      isOptional: true,
      content: <ProviderStep progress={progress} />,
    },
    mayDo(session, 'keys:write') && {
      id: 'key',
      title: 'Create an API key',
      summary: progress.keys[0]
        ? `Newest: ${progress.keys[0].name}`
        : 'Applications send it with every request',
      isDone: progress.keys.length > 0,
      content: <KeyStep hasKeys={progress.keys.length > 0} onCreate={onCreate} />,
    },
    {
      id: 'connect',
      title: 'Connect your application',
      summary: 'Copy a snippet for your client',
      isDone: isRequested,
      content: <SnippetStep secret={secret} />,
    },
    mayDo(session, 'activity:read') && {
      id: 'request',
      title: 'Send the first request',
      summary: isRequested ? 'The first request has arrived' : 'Waiting for your first request…',
      isDone: isRequested,
      content: <RequestStep isDone={isRequested} />,
    },
    mayDoEverywhere(session, 'members:write') && {
      id: 'invite',
      title: 'Invite a colleague',
      summary: describeMembers(progress),
      isDone: progress.members > 1 || progress.invitations > 0,
      isOptional: true,
      content: <InviteStep />,
    },
  ]
  return steps.filter((step) => step !== false)
}

function describeMembers({ members, invitations }: Progress): string {
  if (members > 1) return `${members} members`
  if (invitations > 0) return `${invitations} invited`
  return 'You are the only member'
}

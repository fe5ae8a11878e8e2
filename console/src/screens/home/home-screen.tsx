import { Button, Skeleton } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { createLazyRoute } from '@tanstack/react-router'
import { lazy, Suspense, useRef, useState } from 'react'
import { useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page } from '../../components/page.tsx'
import { listCalls } from './dashboard-view.ts'
import { Checklist } from './get-started/checklist.tsx'
import { listSteps } from './get-started/list-steps.tsx'
import { useProgress } from './get-started/use-progress.ts'
import { PeriodControl } from './period-control.tsx'
import { SetupNotice } from './setup-notice.tsx'

/** Not part of the first screen, which may be the checklist. */
const Dashboard = lazy(() => import('./dashboard.tsx').then(({ Dashboard }) => ({ default: Dashboard })))

export const screen = createLazyRoute('/')({ component: HomeScreen })

/** A checklist until the first request is sent or it is hidden, then a dashboard. */
function HomeScreen() {
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const search = screen.useSearch()
  const progress = useProgress()
  const [now] = useState(Date.now)
  const [secret, setSecret] = useState<string | null>(null)
  const [openStep, setOpenStep] = useState<string>()
  const [view, setView] = useLocalStorage<'auto' | 'checklist' | 'overview'>({
    key: 'headgate-home',
    defaultValue: 'auto',
    getInitialValueInEffect: false,
  })
  const steps = listSteps(session, progress, { secret, onCreate: setSecret })
  const isReady = steps.every(({ isDone, isOptional }) => isDone || isOptional)
  // Decided once: a secret or a link that a step shows must not disappear with the last tick.
  const wasReady = useRef<boolean | null>(null)
  if (wasReady.current === null && !progress.isLoading) wasReady.current = isReady
  const isChecklist = view === 'checklist' || (view === 'auto' && wasReady.current === false)
  if (isChecklist) {
    return (
      <Page
        title="Get started"
        docs="console#get-started"
        description="Set up a provider, create a key and send your first request."
        calls={progress.calls}
        actions={
          <Button variant="default" size="xs" onClick={() => setView('overview')}>
            {isReady ? 'Show the overview' : 'Hide the checklist'}
          </Button>
        }
      >
        {progress.error !== null && <ErrorNotice error={progress.error} />}
        <Checklist key={secret} steps={steps} openStep={secret === null ? openStep : 'connect'} />
      </Page>
    )
  }
  const dashboard = { search, now, workspaceId }
  return (
    <Page
      title="Home"
      docs="console#home"
      scope="listed"
      calls={listCalls(session, dashboard)}
      actions={
        <>
          <PeriodControl search={search} />
          <Button variant="default" size="xs" onClick={() => setView('checklist')}>
            Show checklist
          </Button>
        </>
      }
    >
      {!progress.isLoading && (
        <SetupNotice
          steps={steps}
          onOpen={(step) => {
            setOpenStep(step)
            setView('checklist')
          }}
        />
      )}
      {view === 'auto' && progress.isLoading ? (
        <Skeleton height={400} />
      ) : (
        <Suspense fallback={<Skeleton height={400} />}>
          <Dashboard {...dashboard} />
        </Suspense>
      )}
    </Page>
  )
}

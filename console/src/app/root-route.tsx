import { createRootRoute } from '@tanstack/react-router'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Page } from '../components/page.tsx'
import { Shell } from './shell.tsx'

export const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <Page title="Page not found">
      <EmptyState title="Nothing is at this address">
        The link may be old, or the record was deleted. Open a screen from the menu, or search for it.
      </EmptyState>
    </Page>
  ),
  errorComponent: ({ error, reset }) => <ErrorNotice error={error} onRetry={reset} />,
})

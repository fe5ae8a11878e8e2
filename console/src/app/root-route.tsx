import { createRootRoute } from '@tanstack/react-router'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Page } from '../components/page.tsx'
import { Shell } from './shell.tsx'

export const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <Page title="Page not found">
      <EmptyState title="Page not found">
        The link may be out of date, or the record was deleted. Use the menu or search to continue.
      </EmptyState>
    </Page>
  ),
  errorComponent: ({ error, reset }) => <ErrorNotice error={error} onRetry={reset} />,
})

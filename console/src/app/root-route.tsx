import { createRootRoute } from '@tanstack/react-router'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Shell } from './shell.tsx'

export const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <EmptyState title="This page does not exist">
      Choose a screen from the menu, or search with ⌘K.
    </EmptyState>
  ),
  errorComponent: ({ error, reset }) => <ErrorNotice error={error} onRetry={reset} />,
})

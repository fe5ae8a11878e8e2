import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readListSearch, readOffset } from '../../app/search-params.ts'

export const workspacesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/workspaces',
  validateSearch: readListSearch,
}).lazy(() => import('./workspaces-screen.tsx').then(({ screen }) => screen))

export const workspaceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/workspaces/$id',
  validateSearch: readOffset,
}).lazy(() => import('./workspace-screen.tsx').then(({ screen }) => screen))

import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readListSearch } from '../../app/search-params.ts'

export const membersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/members',
  validateSearch: readListSearch,
}).lazy(() => import('./members-screen.tsx').then(({ screen }) => screen))

export const memberRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/members/$id',
}).lazy(() => import('./member-screen.tsx').then(({ screen }) => screen))

import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readListSearch } from '../../app/search-params.ts'

export const endUsersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/end-users',
  validateSearch: readListSearch,
}).lazy(() => import('./end-users-screen.tsx').then(({ screen }) => screen))

export const endUserRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/end-users/$id',
}).lazy(() => import('./end-user-screen.tsx').then(({ screen }) => screen))

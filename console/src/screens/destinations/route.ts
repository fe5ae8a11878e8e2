import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readOffset } from '../../app/search-params.ts'

export const destinationsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/observability',
  validateSearch: readOffset,
}).lazy(() => import('./destinations-screen.tsx').then(({ screen }) => screen))

export const destinationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/observability/$id',
}).lazy(() => import('./destination-screen.tsx').then(({ screen }) => screen))

import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readFilters } from './filters.ts'

export const auditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/audit',
  validateSearch: readFilters,
}).lazy(() => import('./audit-screen.tsx').then(({ screen }) => screen))

export const auditDestinationsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/audit/destinations',
}).lazy(() => import('./destinations/destinations-screen.tsx').then(({ screen }) => screen))

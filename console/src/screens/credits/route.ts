import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readEntryFilters } from './entry-filters.ts'

export const creditsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/credits',
  validateSearch: readEntryFilters,
}).lazy(() => import('./credits-screen.tsx').then(({ screen }) => screen))

import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readActivitySearch } from './search.ts'

export const activityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/activity',
  validateSearch: readActivitySearch,
}).lazy(() => import('./activity-screen.tsx').then(({ screen }) => screen))

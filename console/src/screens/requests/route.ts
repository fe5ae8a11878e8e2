import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readSearch } from './search.ts'

export const requestsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/requests',
  validateSearch: readSearch,
}).lazy(() => import('./requests-screen.tsx').then(({ screen }) => screen))

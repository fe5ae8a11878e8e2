import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readOffset } from '../../app/search-params.ts'

export const rolesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/roles',
  validateSearch: readOffset,
}).lazy(() => import('./roles-screen.tsx').then(({ screen }) => screen))

import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const requestRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/requests/$id',
}).lazy(() => import('./request-screen.tsx').then(({ screen }) => screen))

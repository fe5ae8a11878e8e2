import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/account',
}).lazy(() => import('./account-screen.tsx').then(({ screen }) => screen))

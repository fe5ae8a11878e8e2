import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const getStartedRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
}).lazy(() => import('./get-started-screen.tsx').then(({ screen }) => screen))

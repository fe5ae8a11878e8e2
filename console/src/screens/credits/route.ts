import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const creditsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/credits',
}).lazy(() => import('./credits-screen.tsx').then(({ screen }) => screen))

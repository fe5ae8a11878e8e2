import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const keysRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys',
}).lazy(() => import('./keys-screen.tsx').then(({ screen }) => screen))

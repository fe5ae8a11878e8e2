import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const systemRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/system',
}).lazy(() => import('./system-screen.tsx').then(({ screen }) => screen))

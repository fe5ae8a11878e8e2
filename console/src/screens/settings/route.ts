import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/organization',
}).lazy(() => import('./settings-screen.tsx').then(({ screen }) => screen))

import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readOffset } from '../../app/search-params.ts'

export const notificationsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/notifications',
  validateSearch: readOffset,
}).lazy(() => import('./notifications-screen.tsx').then(({ screen }) => screen))

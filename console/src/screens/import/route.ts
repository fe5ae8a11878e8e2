import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const importRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/import',
}).lazy(() => import('./import-screen.tsx').then(({ screen }) => screen))

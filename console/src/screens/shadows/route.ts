import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const shadowsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/shadows',
}).lazy(() => import('./shadows-screen.tsx').then(({ screen }) => screen))

export const shadowRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/shadows/$id',
}).lazy(() => import('./shadow-screen.tsx').then(({ screen }) => screen))

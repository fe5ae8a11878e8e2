import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const playgroundRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/playground',
  validateSearch: ({ model }): { model?: string } => (typeof model === 'string' && model ? { model } : {}),
}).lazy(() => import('./playground-screen.tsx').then(({ screen }) => screen))

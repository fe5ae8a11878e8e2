import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readTab } from './tabs.ts'

export const identityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/identity',
  validateSearch: readTab,
}).lazy(() => import('./identity-screen.tsx').then(({ screen }) => screen))

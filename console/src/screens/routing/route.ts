import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

export const routingRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/routing',
}).lazy(() => import('./routing-screen.tsx').then(({ screen }) => screen))

export const routingRulesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/routing/rules',
}).lazy(() => import('./rules/rules-screen.tsx').then(({ screen }) => screen))

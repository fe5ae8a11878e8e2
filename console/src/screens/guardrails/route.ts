import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readListSearch } from '../../app/search-params.ts'

export const guardrailsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/guardrails',
  validateSearch: readListSearch,
}).lazy(() => import('./guardrails-screen.tsx').then(({ screen }) => screen))

export const guardrailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/guardrails/$id',
}).lazy(() => import('./guardrail-screen.tsx').then(({ screen }) => screen))

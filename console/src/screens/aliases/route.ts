import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readOffset } from '../../app/search-params.ts'

export const aliasesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/aliases',
  validateSearch: (search: Record<string, unknown>): { offset?: number } => readOffset(search),
}).lazy(() => import('./aliases-screen.tsx').then(({ screen }) => screen))

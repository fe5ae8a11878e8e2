import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readOffset } from '../../app/search-params.ts'

interface LimitsSearch {
  tab?: 'tiers'
  offset?: number
}

export const limitsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/limits',
  validateSearch: (search: Record<string, unknown>): LimitsSearch => ({
    ...(search.tab === 'tiers' && { tab: 'tiers' }),
    ...readOffset(search),
  }),
}).lazy(() => import('./limits-screen.tsx').then(({ screen }) => screen))

import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readText } from '../../app/search-params.ts'

export const requestRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/requests/$id',
}).lazy(() => import('./request-screen.tsx').then(({ screen }) => screen))

interface CompareSearch {
  /** Generation ids. */
  one?: string
  other?: string
}

export const compareRequestsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/requests/compare',
  validateSearch: (search: Record<string, unknown>): CompareSearch => {
    const [one, other] = [readText(search.one), readText(search.other)]
    return { ...(one && { one }), ...(other && { other }) }
  },
}).lazy(() => import('./compare-screen.tsx').then(({ screen }) => screen))

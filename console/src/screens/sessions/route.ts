import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readText } from '../../app/search-params.ts'

export interface SessionSearch {
  /** A moment of the session, around which its requests are searched; without it, the last 30 days. */
  at?: string
}

export const sessionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sessions/$id',
  validateSearch: ({ at }: Record<string, unknown>): SessionSearch => {
    const time = Date.parse(readText(at) ?? '')
    return Number.isNaN(time) ? {} : { at: new Date(time).toISOString() }
  },
}).lazy(() => import('./session-screen.tsx').then(({ screen }) => screen))

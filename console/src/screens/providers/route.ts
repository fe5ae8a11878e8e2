import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

interface ProvidersSearch {
  q?: string
  /** Includes providers without a credential. */
  all?: true
}

export const providersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/providers',
  validateSearch: ({ q, all }: Record<string, unknown>): ProvidersSearch => ({
    ...(typeof q === 'string' && q && { q }),
    ...(all === true && { all }),
  }),
}).lazy(() => import('./providers-screen.tsx').then(({ screen }) => screen))

export const providerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/providers/$slug',
}).lazy(() => import('./provider-screen.tsx').then(({ screen }) => screen))

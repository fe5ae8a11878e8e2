import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readText } from '../../app/search-params.ts'

interface ReferenceSearch {
  /** Words to search for. */
  q?: string
  /** A call such as `GET /keys/abc`, whose operation is opened. */
  call?: string
}

export const referenceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reference',
  staticData: { isPublic: true },
  validateSearch: ({ q, call }: Record<string, unknown>): ReferenceSearch => {
    const [text, wanted] = [readText(q), readText(call)]
    return { ...(text && { q: text }), ...(wanted && { call: wanted }) }
  },
}).lazy(() => import('./reference-screen.tsx').then(({ screen }) => screen))

export const operationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reference/$operation',
  staticData: { isPublic: true },
}).lazy(() => import('./operation-screen.tsx').then(({ screen }) => screen))

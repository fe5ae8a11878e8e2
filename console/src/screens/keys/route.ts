import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { type ListSearch, readListSearch } from '../../app/search-params.ts'

interface KeysSearch extends ListSearch {
  disabled?: boolean
}

export const keysRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys',
  validateSearch: (search: Record<string, unknown>): KeysSearch => ({
    ...readListSearch(search),
    ...(search.disabled === true && { disabled: true }),
  }),
}).lazy(() => import('./keys-screen.tsx').then(({ screen }) => screen))

export const keyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys/$hash',
}).lazy(() => import('./key-screen.tsx').then(({ screen }) => screen))

import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { type ListSearch, readListSearch, readText } from '../../app/search-params.ts'

export interface KeysSearch extends ListSearch {
  disabled?: boolean
  creator_user_id?: string
}

export const keysRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys',
  validateSearch: (search: Record<string, unknown>): KeysSearch => {
    const creator = readText(search.creator_user_id)?.slice(0, 256)
    return {
      ...readListSearch(search),
      ...(search.disabled === true && { disabled: true }),
      ...(creator !== undefined && { creator_user_id: creator }),
    }
  },
}).lazy(() => import('./keys-screen.tsx').then(({ screen }) => screen))

export const keyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys/$hash',
}).lazy(() => import('./key-screen.tsx').then(({ screen }) => screen))

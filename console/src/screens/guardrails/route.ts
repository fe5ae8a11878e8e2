import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { type ListSearch, readListSearch, readText } from '../../app/search-params.ts'

interface GuardrailsSearch extends ListSearch {
  workspace?: string
}

export const guardrailsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/guardrails',
  validateSearch: (search: Record<string, unknown>): GuardrailsSearch => {
    const workspace = readText(search.workspace)
    return { ...readListSearch(search), ...(workspace && { workspace }) }
  },
}).lazy(() => import('./guardrails-screen.tsx').then(({ screen }) => screen))

export const guardrailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/guardrails/$id',
}).lazy(() => import('./guardrail-screen.tsx').then(({ screen }) => screen))

import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { type ListSearch, readListSearch, readText } from '../../app/search-params.ts'
import { workspaceField } from '../../components/filter-fields.ts'

export interface MembersSearch extends ListSearch {
  role?: 'org:admin' | 'org:member'
  workspace_id?: string
}

const roles = ['org:admin', 'org:member'] as const

function readSearch(search: Record<string, unknown>): MembersSearch {
  const role = roles.find((known) => known === search.role)
  const workspace = readText(search.workspace_id)
  return {
    ...readListSearch(search),
    ...(role !== undefined && { role }),
    ...(workspace !== undefined && workspaceField.idPattern.test(workspace) && { workspace_id: workspace }),
  }
}

export const membersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/members',
  validateSearch: readSearch,
}).lazy(() => import('./members-screen.tsx').then(({ screen }) => screen))

export const memberRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/members/$id',
}).lazy(() => import('./member-screen.tsx').then(({ screen }) => screen))

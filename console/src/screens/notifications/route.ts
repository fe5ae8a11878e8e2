import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readOffset, readText } from '../../app/search-params.ts'
import { type RuleKind, ruleKinds } from './rule-kinds.ts'

export interface NotificationsSearch {
  offset?: number
  /** What the form of a new rule begins with. */
  kind?: RuleKind
  workspace_id?: string
}

export const notificationsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/notifications',
  validateSearch: (search: Record<string, unknown>): NotificationsSearch => {
    const kind = readText(search.kind)
    const workspace = readText(search.workspace_id)?.slice(0, 36)
    return {
      ...readOffset(search),
      ...(kind !== undefined && Object.hasOwn(ruleKinds, kind) && { kind: kind as RuleKind }),
      ...(workspace !== undefined && { workspace_id: workspace }),
    }
  },
}).lazy(() => import('./notifications-screen.tsx').then(({ screen }) => screen))

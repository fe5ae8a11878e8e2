import type { Filter } from '../../../analytics/rollups/aggregator.ts'
import type { Scope } from '../../../identity/permissions/grant.ts'

/**
 * The usage that a caller may see: of all requests in some workspaces, and in others of those with keys that they
 * created. It is combined with what the caller asks for, and thus cannot be widened.
 */
export function listVisibleUsage({ everywhere, workspaceIds, own }: Scope): Filter[][] {
  if (everywhere) return []
  const ofWorkspaces = [selectWorkspaces(workspaceIds)]
  if (!own) return [ofWorkspaces]
  const isOwn = (userId: string | null) => userId === own.userId
  const ofUser: Filter = { column: 'user', matches: isOwn, values: [own.userId] }
  return [ofWorkspaces, [selectWorkspaces(own.workspaceIds), ofUser]]
}

function selectWorkspaces(ids: ReadonlySet<string>): Filter {
  return { column: 'workspace', matches: (id) => id !== null && ids.has(id), values: [...ids] }
}

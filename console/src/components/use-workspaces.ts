import { useQueries } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { listIds } from '../api/id-lists.ts'
import { mayDo, useSession } from '../app/session.tsx'
import { type NamedWorkspace, useWorkspace } from '../app/workspace.tsx'

interface FoundWorkspaces {
  workspaces: Map<string, NamedWorkspace>
  isPending: boolean
}

/** The workspaces with these ids, as far as the role may see them. */
export function useWorkspaces(ids: readonly string[]): FoundWorkspaces {
  const session = useSession()
  const known = [...session.workspaces, ...useWorkspace().workspaces]
  const isAllowed = mayDo(session, 'workspaces:read')
  const unknown = isAllowed ? ids.filter((id) => !known.some((workspace) => workspace.id === id)) : []
  const results = useQueries({
    queries: listIds(unknown).map((list) => ({
      ...api.queryOptions('get', '/workspaces', { params: { query: { ids: list, limit: 100 } } }),
      staleTime: 60_000,
    })),
  })
  const found = [...known, ...results.flatMap(({ data }) => data?.data ?? [])]
  return {
    workspaces: new Map(found.map((workspace) => [workspace.id, workspace])),
    isPending: results.some((result) => result.isPending),
  }
}

/** The name of a workspace by id; the id itself of those that are gone or that the role may not see. */
export function useWorkspaceNames(ids: readonly (string | null)[]): (id: string) => string {
  const { workspaces, isPending } = useWorkspaces(ids.filter((id) => id !== null))
  return (id) => workspaces.get(id)?.name ?? (isPending ? '…' : id)
}

import { useLocalStorage } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useState } from 'react'
import { api, setRequestWorkspace } from '../api/client.ts'
import { mayDo, useSession } from './session.tsx'

export interface NamedWorkspace {
  id: string
  name: string
  slug: string
}

interface WorkspaceChoice {
  /** Null for all workspaces. */
  id: string | null
  /**
   * The workspace of requests to models and of new records: the chosen or the default one; undefined if there is none.
   */
  current: NamedWorkspace | undefined
  /** The oldest of those that can be chosen, a hundred at most. */
  workspaces: NamedWorkspace[]
  /** Null chooses all workspaces. */
  choose: (workspace: NamedWorkspace | null) => void
}

const Context = createContext<WorkspaceChoice | null>(null)

/** The workspace that the screens are about. */
export function useWorkspace(): WorkspaceChoice {
  const choice = useContext(Context)
  if (!choice) throw new Error('useWorkspace is used outside of WorkspaceProvider')
  return choice
}

/** Remembers the choice in this browser. In place of a workspace that is gone, all of them are chosen. */
export function WorkspaceProvider({ children }: { children: ReactNode }) {
  const session = useSession()
  const queryClient = useQueryClient()
  const listed = useQuery({ ...listOptions(null), enabled: mayDo(session, 'workspaces:read') })
  const workspaces: NamedWorkspace[] = listed.data?.data ?? session.workspaces
  const { chosen, isPending, remember } = useStoredWorkspace()
  const id = chosen?.id ?? null
  setRequestWorkspace(id)
  const choose = (next: NamedWorkspace | null) => {
    setRequestWorkspace(next?.id ?? null)
    remember(next)
    void queryClient.resetQueries({ predicate: ({ queryKey }) => queryKey[1] !== '/session' })
  }
  if (isPending) return null
  return <Context value={{ id, current: chosen ?? workspaces[0], workspaces, choose }}>{children}</Context>
}

/** Reads the choice of this browser, if the workspace still exists. The session knows the member's own workspaces. */
function useStoredWorkspace() {
  const session = useSession()
  const [stored, setStored] = useLocalStorage<string | null>({
    key: 'headgate-workspace',
    defaultValue: null,
    getInitialValueInEffect: false,
  })
  const [last, setLast] = useState<NamedWorkspace | null>(null)
  const known = [...session.workspaces, ...(last ? [last] : [])].find(({ id }) => id === stored)
  const isUnknown = stored !== null && !known && mayDo(session, 'workspaces:read')
  const found = useQuery({ ...listOptions(stored), enabled: isUnknown })
  const remember = (workspace: NamedWorkspace | null) => {
    setLast(workspace)
    setStored(workspace?.id ?? null)
  }
  const chosen = known ?? (isUnknown ? found.data?.data[0] : undefined)
  return { chosen, isPending: found.isLoading, remember }
}

function listOptions(id: string | null) {
  return api.queryOptions('get', '/workspaces', {
    params: { query: { limit: 100, ...(id !== null && { ids: id }) } },
  })
}

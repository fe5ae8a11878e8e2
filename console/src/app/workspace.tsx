import { Select } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { api, setRequestWorkspace } from '../api/client.ts'
import { mayDo, useSession } from './session.tsx'

interface NamedWorkspace {
  id: string
  name: string
}

interface WorkspaceChoice {
  /** Null until the person chooses one: the default workspace. */
  id: string | null
  /** The chosen workspace, or the default one; undefined if the person has none. */
  current: NamedWorkspace | undefined
  /** Those that can be chosen, oldest first. */
  workspaces: NamedWorkspace[]
  choose: (id: string) => void
}

const Context = createContext<WorkspaceChoice | null>(null)

/** The workspace that the screens are about. */
export function useWorkspace(): WorkspaceChoice {
  const choice = useContext(Context)
  if (!choice) throw new Error('useWorkspace is used outside of WorkspaceProvider')
  return choice
}

/** Remembers the choice in this browser. A workspace that is gone is the default one again. */
export function WorkspaceProvider({ children }: { children: ReactNode }) {
  const session = useSession()
  const queryClient = useQueryClient()
  const options = api.queryOptions('get', '/workspaces', { params: { query: { limit: 100 } } })
  const listed = useQuery({ ...options, enabled: mayDo(session, 'workspaces:read') })
  const workspaces: NamedWorkspace[] = listed.data?.data ?? session.workspaces
  const [stored, setStored] = useLocalStorage<string | null>({
    key: 'headgate-workspace',
    defaultValue: null,
    getInitialValueInEffect: false,
  })
  const chosen = workspaces.find((workspace) => workspace.id === stored)
  const id = chosen?.id ?? null
  setRequestWorkspace(id)
  const choose = (next: string) => {
    setRequestWorkspace(next)
    setStored(next)
    void queryClient.resetQueries({ predicate: ({ queryKey }) => queryKey[1] !== '/session' })
  }
  return <Context value={{ id, current: chosen ?? workspaces[0], workspaces, choose }}>{children}</Context>
}

/** Nothing if there is only one. */
export function WorkspaceSelect() {
  const { current, workspaces, choose } = useWorkspace()
  if (workspaces.length < 2) return null
  return (
    <Select
      label="Workspace"
      size="xs"
      searchable
      allowDeselect={false}
      data={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
      value={current?.id ?? null}
      onChange={(next) => next && choose(next)}
    />
  )
}

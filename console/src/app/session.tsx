import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect } from 'react'
import { api, type Schemas, setCsrfToken } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { onSessionEnd } from '../api/session-end.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { goToSignIn } from './sign-in.ts'

export type Session = Schemas['SessionIdentity']
export type Permission = Session['permissions'][number]

export const sessionOptions = {
  ...api.queryOptions('get', '/session'),
  staleTime: 60_000,
  // It may fail before a component asks for it.
  retryOnMount: false,
}

const Context = createContext<Session | null>(null)

/** The session of the signed-in member. */
export function useSession(): Session {
  const session = useContext(Context)
  if (!session) throw new Error('useSession is used outside of SessionProvider')
  return session
}

/** Null for a visitor of a public screen who is not signed in. */
export function useOptionalSession(): Session | null {
  return useContext(Context)
}

/** Whether the person may do this in the organization, in one of its workspaces, or for records of their own. */
export function mayDo(session: Session, permission: Permission): boolean {
  return (
    session.permissions.includes(permission) ||
    session.workspaces.some(
      (workspace) =>
        workspace.permissions.includes(permission) || workspace.own_permissions.includes(permission),
    )
  )
}

/** Whether the person may do this in the whole organization: what some calls require. */
export function mayDoEverywhere(session: Session, permission: Permission): boolean {
  return session.permissions.includes(permission)
}

/** Whether the person may do this in this workspace. */
export function mayDoIn(session: Session, workspaceId: string, permission: Permission): boolean {
  const workspace = session.workspaces.find(({ id }) => id === workspaceId)
  return mayDoEverywhere(session, permission) || (workspace?.permissions.includes(permission) ?? false)
}

interface SessionProviderProps {
  /** The content for visitors who are not signed in; without it, the sign-in page opens. */
  signedOut: ReactNode | null
  children: ReactNode
}

/** Until it is known who is signed in, the page shows the frame that the server has sent. */
export function SessionProvider({ signedOut, children }: SessionProviderProps) {
  const query = useQuery(sessionOptions)
  const queryClient = useQueryClient()
  const session = query.data?.data
  const isSignedOut = query.error instanceof ApiError && query.error.status === 401
  useEffect(() => {
    onSessionEnd(() => {
      const { queryKey } = sessionOptions
      const state = queryClient.getQueryState(queryKey)
      // The answer decides: it is not read again for its own 401.
      if (state?.status === 'success' && state.fetchStatus === 'idle')
        void queryClient.refetchQueries({ queryKey })
    })
  }, [queryClient])
  useEffect(() => {
    if (isSignedOut && !signedOut) goToSignIn()
  }, [isSignedOut, signedOut])
  if (session && !isSignedOut) {
    setCsrfToken(session.csrf_token)
    return <Context value={session}>{children}</Context>
  }
  if (isSignedOut && signedOut) return signedOut
  if (query.error && !isSignedOut)
    return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
  return null
}

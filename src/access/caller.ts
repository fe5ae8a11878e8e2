import type { WorkloadIdentity } from '../identity/access-tokens.ts'
import type { ApiKey } from '../identity/keys.ts'
import type { Grant } from '../identity/permissions/grant.ts'
import type { Session } from '../identity/sessions.ts'
import type { Owner } from '../storage/stored-responses.ts'

/** The authenticated caller. */
export interface Caller {
  key: ApiKey
  organizationId: string
  userId: string | null
  /** Null if the caller sent an API key. */
  session: MemberSession | null
  /** The workload that sent an access token for the key; otherwise null. */
  workload: WorkloadIdentity | null
}

/** Whether the caller sent an inference key. The key of a session has that kind too. */
export function isInferenceKey({ key, session }: Caller): boolean {
  return session === null && key.kind === 'inference'
}

/** The id that limits per caller count by. For a session it is the member, who has a key in each workspace. */
export function callerIdOf({ key, session, userId }: Caller): string {
  return session === null ? `key ${key.id}` : `member ${userId}`
}

/** The owner of the stored responses and conversations a caller can read. */
export function ownerOf({ organizationId, key }: Caller): Owner {
  return { organizationId, workspaceId: key.workspace_id }
}

/** The session of a member, and what the member may do. */
export interface MemberSession {
  session: Session
  grant: Grant
}

import type { ApiKey } from '../../account/keys.ts'
import type { Session } from '../../account/sessions.ts'
import type { Owner } from '../../account/stored-responses.ts'
import type { Grant } from '../../permissions/grant.ts'

/** The authenticated caller. */
export interface Caller {
  key: ApiKey
  organizationId: string
  userId: string | null
  /** Null if the caller sent an API key. */
  session: MemberSession | null
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

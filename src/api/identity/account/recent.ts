import type { Caller } from '../../../access/caller.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { findActiveMember, type Member } from '../../../identity/members.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'

const recentMs = 15 * 60_000
/** Note in the descriptions of operations. */
export const recentSignInNote = 'Requires a sign-in within the last 15 minutes.'

/** Whether the member proved who they are a moment ago: a session that was left open or stolen did not. */
export function isRecentlySignedIn({ clock }: Gateway, { session }: Caller): boolean {
  return session !== null && clock.now() - Date.parse(session.session.created_at) < recentMs
}

export function assertRecentlySignedIn(gateway: Gateway, caller: Caller): void {
  if (!isRecentlySignedIn(gateway, caller))
    throw gatewayError('forbidden', 'This requires a sign-in within the last 15 minutes. Sign in again.')
}

/** The member whose session the request has. */
export async function requireAccount({ db }: Gateway, { userId }: Caller): Promise<Member> {
  const member = await findActiveMember(db, userId ?? '')
  if (!member) throw gatewayError('credential_invalid', 'The session has ended. Sign in again.')
  return member
}

import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { endOfSession, type Session } from '../../../identity/sessions.ts'

export const signInMethod = z.enum(['link', 'email', 'password', 'passkey', 'invitation', 'oidc'])

export const sessionRecord = z
  .strictObject({
    id: z.string(),
    current: z.boolean().describe('Whether this request uses the session.'),
    method: signInMethod.describe('How the member signed in.'),
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    created_at: z.string(),
    last_seen_at: z.string().describe('To the minute.'),
    expires_at: z.string().describe('When the session ends if it is not used again.'),
  })
  .meta({ id: 'Session' })

export function toSessionRecord(
  gateway: Gateway,
  session: Session,
  currentId: string | undefined,
): z.input<typeof sessionRecord> {
  const { id, method, ip, user_agent, created_at, last_seen_at } = session
  const expires_at = endOfSession(gateway, session)
  return { id, current: id === currentId, method, ip, user_agent, created_at, last_seen_at, expires_at }
}

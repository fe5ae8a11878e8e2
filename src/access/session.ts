import type { Gateway } from '../gateway/gateway.ts'
import { createSessionKey, findSessionKey } from '../identity/keys.ts'
import { loadMemberGrant } from '../identity/member-grant.ts'
import { findSession } from '../identity/sessions.ts'
import { resolveWorkspace } from '../identity/workspaces.ts'
import { isSameText, sha256 } from '../platform/crypto/crypto.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { parseRequestUrl } from '../platform/http/request-url.ts'
import type { Caller } from './caller.ts'
import { isSameOrigin, pathPrefixOf } from './origin.ts'

const sessionCookie = 'headgate_session'

/** Proves that a script of this server sent the request; `GET /session` returns it. */
export const csrfHeader = 'x-csrf-token'

/** The workspace that a request of a session belongs to; otherwise the default one. */
export const workspaceHeader = 'x-headgate-workspace'
/** Value that stands for a workspace: lists have the records of all, and everything else belongs to the default one. */
export const allWorkspaces = 'all'

export function cookieOf(request: Request, name: string): string | null {
  return new Bun.CookieMap(request.headers.get('cookie') ?? '').get(name)
}

/** Whether the client uses https, which a proxy may terminate. */
export function isSecure({ settings }: Gateway, request: Request): boolean {
  const forwarded = request.headers.get('x-forwarded-proto')?.split(',')[0]?.trim()
  const schemes = [parseRequestUrl(request).protocol, `${forwarded}:`, settings.public_url ?? '']
  return schemes.some((scheme) => scheme.startsWith('https:'))
}

/**
 * The name of the session cookie. With `__Host-`, browsers accept the cookie only from this host over https: no other
 * host can replace it. They require the path `/` then. Behind a path prefix the cookie has that path instead: the other
 * apps of the host do not get it.
 */
export function sessionCookieOf(gateway: Gateway, request: Request): string {
  if (!isSecure(gateway, request)) return sessionCookie
  return (pathPrefixOf(gateway) === '' ? '__Host-' : '__Secure-') + sessionCookie
}

export function sessionTokenOf(gateway: Gateway, request: Request): string | null {
  return cookieOf(request, sessionCookieOf(gateway, request))
}

/** The caller of a request that has a session cookie and no API key. */
export async function authenticateSession(gateway: Gateway, request: Request): Promise<Caller | undefined> {
  const token = sessionTokenOf(gateway, request)
  if (!token) return undefined
  const found = await findSession(gateway, token)
  if (!found) return undefined
  const { session, member } = found
  if (request.method !== 'GET' && request.method !== 'HEAD') verifyOrigin(gateway, request, token)
  const organizationId = member.organization_id
  const header = request.headers.get(workspaceHeader)
  const requested = header === null || header === allWorkspaces ? undefined : header
  const workspace = await resolveWorkspace(gateway.db, organizationId, requested, workspaceHeader)
  const owner = { organizationId, workspaceId: workspace.id, userId: member.id }
  const key =
    (await findSessionKey(gateway.db, owner)) ?? (await createSessionKey(gateway.db, gateway.clock, owner))
  const grant = await loadMemberGrant(gateway.db, member)
  return { key, organizationId, userId: member.id, session: { session, grant }, workload: null }
}

export function createSessionCsrfToken({ vault }: Gateway, token: string): string {
  return vault.sign(`session/csrf:${sha256(token)}`)
}

function verifyOrigin(gateway: Gateway, request: Request, token: string): void {
  const sent = request.headers.get(csrfHeader) ?? ''
  if (isSameOrigin(gateway, request) && isSameText(sent, createSessionCsrfToken(gateway, token))) return
  throw gatewayError(
    'forbidden',
    `A request with a session must have the header ${csrfHeader} with the csrf_token of GET /session, and come from a page of this server.`,
  )
}

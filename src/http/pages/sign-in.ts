import { resolveRequestSource } from '../../access/client-address.ts'
import { pathPrefixOf } from '../../access/origin.ts'
import { cookieOf, sessionTokenOf } from '../../access/session.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { AuditEvent, AuditOrigin } from '../../governance/audit/entry.ts'
import { type RecordEvent, transactAs } from '../../governance/audit/transaction.ts'
import { displayNameOf, findActiveMember, type Member, tryLockMember } from '../../identity/members.ts'
import { deleteSession, startSession } from '../../identity/sessions.ts'
import type { Db } from '../../platform/db/db.ts'
import type { SignInMethod } from '../../platform/db/schema.ts'
import { resolveRequestId } from '../../platform/http/request-id.ts'
import { parseRequestUrl } from '../../platform/http/request-url.ts'
import { redirectSeeOther, setCookie, setSessionCookie } from './browser.ts'
import { parseOwnPath, returnCookie } from './return-path.ts'
import { renderSignInPage } from './sign-in-views.ts'

/** Browsers drop a cookie of 4096 bytes, its name and attributes included. */
const maxReturnLength = 3800

/** Asks the visitor to sign in, and remembers the requested page. */
export function promptSignIn(gateway: Gateway, request: Request): Response {
  const { pathname, search, searchParams } = parseRequestUrl(request)
  const requested = pathname === '/signin' ? searchParams.get('return_to') : pathname + search
  const value = parseOwnPath(requested)
  const response = renderSignInPage(gateway, { status: 401 })
  if (value === null || encodeURIComponent(value).length > maxReturnLength) return response
  return setCookie(gateway, request, response, { ...returnCookie, value })
}

/** Reads the path that the visitor requested. Checked again: a page of a neighboring domain can set cookies. */
export function readReturnPath(request: Request): string {
  const requested = parseRequestUrl(request).searchParams.get('return_to')
  return parseOwnPath(requested) ?? parseOwnPath(cookieOf(request, returnCookie.name)) ?? '/'
}

export interface SignIn {
  member: Member
  method: SignInMethod
  /** Uses up what the member signs in with, such as a link; false if it was used before. */
  claim?: (tx: Db) => Promise<boolean>
}

/**
 * Starts a session with a new token, ends the one that the browser had, and redirects to where the visitor came from.
 * Undefined if the claim failed or the member is no longer active.
 */
export async function finishSignIn(
  gateway: Gateway,
  request: Request,
  { member, method, claim }: SignIn,
): Promise<Response | undefined> {
  const source = resolveRequestSource(gateway, request)
  const token = await transactAs(gateway, originOf(gateway, request, member), async (tx, record) => {
    // In the order in which removing a member locks them.
    if (claim && !(await claim(tx))) return undefined
    await endPreviousSession(tx, gateway, request, record)
    if (!(await tryLockMember(tx, member.organization_id, member.id))) return undefined
    const started = await startSession(tx, gateway, { userId: member.id, method, ...source })
    record({ action: 'session.create', target: sessionTarget(started.session.id), details: { method } })
    return started.token
  })
  if (token === undefined) return undefined
  const response = redirectSeeOther(pathPrefixOf(gateway) + readReturnPath(request))
  setSessionCookie(gateway, request, response, token)
  return setCookie(gateway, request, response, { ...returnCookie, value: '' })
}

/** Ends the session that the browser had, whose member may be another one. */
export async function endPreviousSession(
  tx: Db,
  gateway: Gateway,
  request: Request,
  record: RecordEvent,
): Promise<void> {
  const ended = await deleteSession(tx, sessionTokenOf(gateway, request) ?? '')
  const member = ended && (await findActiveMember(tx, ended.user_id))
  if (!member) return
  record({
    action: 'session.delete',
    target: sessionTarget(ended.id),
    organizationId: member.organization_id,
    details: { reason: 'the browser signed in again' },
  })
}

/** Ends the session of the browser. */
export async function signOut(gateway: Gateway, request: Request, member: Member): Promise<void> {
  await transactAs(gateway, originOf(gateway, request, member), async (tx, record) => {
    const ended = await deleteSession(tx, sessionTokenOf(gateway, request) ?? '')
    if (ended) record({ action: 'session.delete', target: sessionTarget(ended.id) })
  })
}

function sessionTarget(id: string): AuditEvent['target'] {
  return { type: 'session', id }
}

/** The origin of what a visitor does; without a member, the visitor is not known yet. */
export function originOf(gateway: Gateway, request: Request, member?: Member): AuditOrigin {
  return {
    organizationId: member?.organization_id ?? null,
    actor: member
      ? { type: 'member', id: member.id, name: displayNameOf(member) }
      : { type: 'anonymous', id: null, name: null },
    ...resolveRequestSource(gateway, request),
    requestId: resolveRequestId(request),
  }
}

/** Entries a minute in each chain: strangers cause these. */
const maxRefusalsPerMinute = 60

export interface Refusal {
  method: SignInMethod
  /** Reason for the audit log, such as `wrong password`. */
  reason: string
  /** Null if no member has the address. */
  member: Member | null
}

/** Records a sign-in that failed, in the log of the member's organization or of the installation. */
export async function recordRefusal(
  gateway: Gateway,
  request: Request,
  { method, reason, member }: Refusal,
): Promise<void> {
  const organizationId = member?.organization_id ?? null
  try {
    const name = `sign-in refusals ${organizationId}`
    await gateway.rateLimiter.consume(name, maxRefusalsPerMinute, gateway.clock.now(), name)
  } catch {
    return
  }
  await transactAs(gateway, { ...originOf(gateway, request), organizationId }, async (_tx, record) => {
    record({
      action: 'session.create',
      outcome: 'refused',
      target: { type: 'member', id: member?.id ?? 'unknown', name: member && displayNameOf(member) },
      details: { method, reason },
    })
  })
}

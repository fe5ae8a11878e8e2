import { findProviderSignOutUrl } from '../../../access/sign-out.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RawRoute } from '../../../http/operation.ts'
import { createPage, findVisitor, readForm, setSessionCookie } from '../../../http/pages/browser.ts'
import { finishSignIn, promptSignIn, readReturnPath, signOut } from '../../../http/pages/sign-in.ts'
import {
  renderCodeStepPage,
  renderDeadLinkPage,
  renderLinkPage,
  renderSignedInPage,
  renderSignedOutPage,
} from '../../../http/pages/sign-in-views.ts'
import { claimSignInToken, findSignInMember } from '../../../identity/sessions.ts'
import { requiresCode } from '../../../identity/totp.ts'
import type { Db } from '../../../platform/db/db.ts'
import { parseRequestUrl } from '../../../platform/http/request-url.ts'
import { createPendingToken } from './code.ts'

/** Shows only a button for a link, so that link previews do not use up the token. */
async function showSignIn(gateway: Gateway, request: Request): Promise<Response> {
  const token = parseRequestUrl(request).searchParams.get('token')
  if (token === null) {
    const visitor = await findVisitor(gateway, request)
    if (!visitor) return promptSignIn(gateway, request)
    return renderSignedInPage(gateway, visitor.member, readReturnPath(request))
  }
  const found = await findSignInMember(gateway.db, gateway.clock, token)
  return found ? renderLinkPage(gateway, found.member, token) : renderDeadLinkPage(gateway)
}

async function useLink(gateway: Gateway, request: Request): Promise<Response> {
  const form = await readForm(gateway, request)
  const token = form.get('token') ?? ''
  const found = await findSignInMember(gateway.db, gateway.clock, token)
  if (!found) return renderDeadLinkPage(gateway)
  const claim = (tx: Db) => claimSignInToken(tx, gateway.clock, token)
  if (found.method === 'email' && (await requiresCode(gateway.db, found.member.id))) {
    if (!(await claim(gateway.db))) return renderDeadLinkPage(gateway)
    const pending = createPendingToken(gateway, { userId: found.member.id, method: 'email' })
    return renderCodeStepPage(gateway, pending)
  }
  return (await finishSignIn(gateway, request, { ...found, claim })) ?? renderDeadLinkPage(gateway)
}

async function endSession(gateway: Gateway, request: Request): Promise<Response> {
  await readForm(gateway, request)
  const visitor = await findVisitor(gateway, request)
  const providerUrl = visitor && (await findProviderSignOutUrl(gateway, request, visitor.sessionToken))
  if (visitor) await signOut(gateway, request, visitor.member)
  return setSessionCookie(gateway, request, renderSignedOutPage(gateway, providerUrl ?? null), '')
}

export const linkPages: RawRoute[] = [
  createPage('GET', '/signin', showSignIn),
  createPage('POST', '/signin', useLink),
  createPage('POST', '/signout', endSession),
]

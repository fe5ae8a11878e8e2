import { createSession, deleteSession, findSigninMember } from '../../account/sessions.ts'
import type { Gateway } from '../../app/gateway.ts'
import type { RawRoute } from '../../http/operation.ts'
import { parseRequestUrl } from '../../lib/request-url.ts'
import { cookieOf, sessionTokenOf } from '../../pipeline/request/session.ts'
import {
  createPage,
  findVisitor,
  readForm,
  redirectSeeOther,
  setCookie,
  setSessionCookie,
} from './browser.ts'
import {
  renderDeadLinkPage,
  renderSignedInPage,
  renderSignedOutPage,
  renderSigninNeededPage,
  renderSigninPage,
} from './views.ts'

/** Where to continue after sign-in. Sent to the sign-in page only. */
const returnCookie = { name: 'headgate_return', path: '/signin', maxAge: 600 }

/** Browsers drop a cookie of 4096 bytes, its name and attributes included. */
const maxReturnLength = 3800

/** Explains how to sign in and remembers the requested consent page. */
export function promptSignin(gateway: Gateway, request: Request): Response {
  const { pathname, search } = parseRequestUrl(request)
  const value = pathname + search
  const response = renderSigninNeededPage()
  if (!isConsentPath(value) || encodeURIComponent(value).length > maxReturnLength) return response
  return setCookie(gateway, request, response, { ...returnCookie, value })
}

function isConsentPath(path: string): boolean {
  return path.startsWith('/auth?')
}

function readReturnPath(request: Request): string | undefined {
  const path = cookieOf(request, returnCookie.name)
  if (!path || !isConsentPath(path)) return undefined
  const { pathname, search } = new URL(path, 'http://headgate.invalid')
  return pathname + search
}

/** Shows only a button, so that link previews do not use up the token. */
async function showSignin(gateway: Gateway, request: Request): Promise<Response> {
  const token = parseRequestUrl(request).searchParams.get('token')
  if (token === null) {
    const visitor = await findVisitor(gateway, request)
    return visitor ? renderSignedInPage(visitor.member) : renderSigninNeededPage()
  }
  const member = await findSigninMember(gateway.db, gateway.clock, token)
  return member ? renderSigninPage(member, token) : renderDeadLinkPage()
}

async function signIn(gateway: Gateway, request: Request): Promise<Response> {
  const form = await readForm(gateway, request)
  const session = await createSession(gateway, form.get('token') ?? '')
  if (session === undefined) return renderDeadLinkPage()
  const response = redirectSeeOther(readReturnPath(request) ?? '/docs')
  setSessionCookie(gateway, request, response, session)
  return setCookie(gateway, request, response, { ...returnCookie, value: '' })
}

async function signOut(gateway: Gateway, request: Request): Promise<Response> {
  await readForm(gateway, request)
  const token = sessionTokenOf(request)
  if (token) await deleteSession(gateway.db, token)
  return setSessionCookie(gateway, request, renderSignedOutPage(), '')
}

export const signinPages: RawRoute[] = [
  createPage('GET', '/signin', showSignin),
  createPage('POST', '/signin', signIn),
  createPage('POST', '/signout', signOut),
]

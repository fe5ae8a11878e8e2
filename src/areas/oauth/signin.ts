import { closeSession, findSigninMember, openSession } from '../../account/sessions.ts'
import type { Gateway } from '../../gateway.ts'
import { requestUrl } from '../../lib/url.ts'
import type { Page } from '../../operation.ts'
import {
  cookieOf,
  page,
  readForm,
  seeOther,
  sessionTokenOf,
  setCookie,
  setSession,
  visitorOf,
} from './browser.ts'
import { deadLinkPage, signedInPage, signedOutPage, signinNeededPage, signinPage } from './views.ts'

/** Where to go after signing in. Sent back to the sign-in page alone. */
const returnCookie = { name: 'headgate_return', path: '/signin', maxAge: 600 }

/** Browsers drop a cookie of 4096 bytes, its name and attributes included. */
const maxReturnLength = 3800

/** Shows the way to sign in, and remembers the consent page that was asked for. */
export function askToSignIn(gateway: Gateway, request: Request): Response {
  const { pathname, search } = requestUrl(request)
  const value = pathname + search
  const response = signinNeededPage()
  if (!isConsentPath(value) || encodeURIComponent(value).length > maxReturnLength) return response
  return setCookie(gateway, request, response, { ...returnCookie, value })
}

function isConsentPath(path: string): boolean {
  return path.startsWith('/auth?')
}

function rememberedPath(request: Request): string | undefined {
  const path = cookieOf(request, returnCookie.name)
  if (!path || !isConsentPath(path)) return undefined
  const { pathname, search } = new URL(path, 'http://headgate.invalid')
  return pathname + search
}

/** Only shows a button: what previews links must not use them up. */
async function showSignin(gateway: Gateway, request: Request): Promise<Response> {
  const token = requestUrl(request).searchParams.get('token')
  if (token === null) {
    const visitor = await visitorOf(gateway, request)
    return visitor ? signedInPage(visitor.member) : signinNeededPage()
  }
  const member = await findSigninMember(gateway.db, gateway.clock, token)
  return member ? signinPage(member, token) : deadLinkPage()
}

async function signIn(gateway: Gateway, request: Request): Promise<Response> {
  const form = await readForm(gateway, request)
  const session = await openSession(gateway, form.get('token') ?? '')
  if (session === undefined) return deadLinkPage()
  const response = seeOther(rememberedPath(request) ?? '/docs')
  setSession(gateway, request, response, session)
  return setCookie(gateway, request, response, { ...returnCookie, value: '' })
}

async function signOut(gateway: Gateway, request: Request): Promise<Response> {
  await readForm(gateway, request)
  const token = sessionTokenOf(request)
  if (token) await closeSession(gateway.db, token)
  return setSession(gateway, request, signedOutPage(), '')
}

export const signinPages: Page[] = [
  page('GET', '/signin', showSignin),
  page('POST', '/signin', signIn),
  page('POST', '/signout', signOut),
]

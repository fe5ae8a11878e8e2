import type { Member } from '../../account/members.ts'
import { findSession, sessionLifeMs } from '../../account/sessions.ts'
import { badField, fail, GatewayError } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { readText } from '../../lib/body.ts'
import { sameText, sha256 } from '../../lib/secret.ts'
import { requestUrl } from '../../lib/url.ts'
import type { Page } from '../../operation.ts'
import { isOwnOrigin } from '../../pipeline/origin.ts'
import { paceOf } from '../../pipeline/pace.ts'
import { problemPage } from './views.ts'

/** A page whose refusals are pages too. */
export function page(method: Page['method'], path: string, handle: Page['handle']): Page {
  return {
    method,
    path,
    handle: async (gateway, request) => {
      try {
        return await handle(gateway, request)
      } catch (error) {
        if (error instanceof GatewayError && error.row.status < 500) {
          const response = problemPage(error.row.status, error.message)
          for (const [name, value] of Object.entries(error.headers)) response.headers.set(name, value)
          return response
        }
        throw error
      }
    },
  }
}

/** Our forms are a few short fields and one URL. */
const maxFormBytes = 16 * 1024

/** The fields of a form of ours; one that another site sent is refused. */
export async function readForm(gateway: Gateway, request: Request): Promise<Map<string, string>> {
  const text = await readText(request, { maxBytes: maxFormBytes, pace: paceOf(gateway) })
  if (!request.headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')) {
    throw badField('body', 'must be a form')
  }
  refuseOtherSites(gateway, request)
  return fieldsOf(new URLSearchParams(text))
}

/** A name given twice could mean one thing to a check and another to what follows it. */
export function fieldsOf(params: URLSearchParams): Map<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of params) {
    if (fields.has(name)) throw badField(name, 'is given more than once')
    fields.set(name, value)
  }
  return fields
}

/** Browsers say where a form came from; behind a proxy that rewrites `Host` only the first of the two is right. */
function refuseOtherSites(gateway: Gateway, request: Request): void {
  const site = request.headers.get('sec-fetch-site')
  const origin = request.headers.get('origin')
  const own =
    site === null
      ? origin === null || isOwnOrigin(gateway, request, origin)
      : site === 'same-origin' || site === 'none'
  if (!own) throw fail('forbidden', 'This form was sent from another site.')
}

export function seeOther(location: string): Response {
  return new Response(null, {
    status: 303,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  })
}

const sessionCookie = 'headgate_session'

export interface Visitor {
  member: Member
  sessionToken: string
}

export function cookieOf(request: Request, name: string): string | null {
  return new Bun.CookieMap(request.headers.get('cookie') ?? '').get(name)
}

export function sessionTokenOf(request: Request): string | null {
  return cookieOf(request, sessionCookie)
}

export async function visitorOf(gateway: Gateway, request: Request): Promise<Visitor | undefined> {
  const sessionToken = sessionTokenOf(request)
  const member = sessionToken && (await findSession(gateway.db, gateway.clock, sessionToken))
  return sessionToken && member ? { member, sessionToken } : undefined
}

interface CookieWish {
  name: string
  /** Empty: the browser forgets it. */
  value: string
  path: string
  maxAge: number
}

export function setCookie(
  gateway: Gateway,
  request: Request,
  response: Response,
  { name, value, path, maxAge }: CookieWish,
): Response {
  const cookie = new Bun.Cookie(name, value, {
    path,
    maxAge: value === '' ? 0 : maxAge,
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(gateway, request),
  })
  response.headers.append('set-cookie', cookie.serialize())
  return response
}

export function setSession(gateway: Gateway, request: Request, response: Response, token: string): Response {
  const maxAge = sessionLifeMs / 1000
  return setCookie(gateway, request, response, { name: sessionCookie, value: token, path: '/', maxAge })
}

function isSecure(gateway: Gateway, request: Request): boolean {
  const forwarded = request.headers.get('x-forwarded-proto')?.split(',')[0]?.trim()
  const schemes = [requestUrl(request).protocol, `${forwarded}:`, gateway.settings.public_url ?? '']
  return schemes.some((scheme) => scheme.startsWith('https:'))
}

/** Proves that a form came from a page this visitor was shown. */
export function csrfToken(gateway: Gateway, visitor: Visitor, purpose: string): string {
  return gateway.vault.sign(`${purpose}:${sha256(visitor.sessionToken)}`)
}

export function refuseForgery(
  gateway: Gateway,
  visitor: Visitor,
  purpose: string,
  sent: string | undefined,
): void {
  if (!sameText(sent ?? '', csrfToken(gateway, visitor, purpose))) {
    throw fail('forbidden', 'This form is not valid any more. Go back, reload the page and try again.')
  }
}

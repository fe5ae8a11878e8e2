import { isSameOrigin, pathPrefixOf } from '../../access/origin.ts'
import { limitAnonymous } from '../../access/request-limits.ts'
import { isSecure, sessionCookieOf, sessionTokenOf } from '../../access/session.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Member } from '../../identity/members.ts'
import { findSession, type Session } from '../../identity/sessions.ts'
import { isSameText, sha256 } from '../../platform/crypto/crypto.ts'
import { GatewayError, gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { bodyPaceOf, readBodyText } from '../../platform/http/body-reader.ts'
import type { RawRoute } from '../operation.ts'
import { renderProblemPage } from './markup.ts'

/** A page that anyone may open, at a limited rate. */
export function createPage(method: RawRoute['method'], path: string, handle: RawRoute['handle']): RawRoute {
  return {
    method,
    path,
    handle: renderErrors(async (gateway, request) => {
      await limitAnonymous(gateway, request, path)
      return handle(gateway, request)
    }),
  }
}

/** Renders errors as HTML pages too. */
export function renderErrors(handle: RawRoute['handle']): RawRoute['handle'] {
  return async (gateway, request) => {
    try {
      return await handle(gateway, request)
    } catch (error) {
      if (error instanceof GatewayError && error.row.status < 500) {
        const response = renderProblemPage(gateway, error.row.status, error.message)
        for (const [name, value] of Object.entries(error.headers)) response.headers.set(name, value)
        return response
      }
      throw error
    }
  }
}

/** The forms have a few short fields and one URL. */
const maxFormBytes = 16 * 1024

/** Parses a form of these pages and rejects one sent from another site. */
export async function readForm(gateway: Gateway, request: Request): Promise<Map<string, string>> {
  const text = await readBodyText(request, { maxBytes: maxFormBytes, pace: bodyPaceOf(gateway) })
  if (!request.headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')) {
    throw invalidFieldError('body', 'must be a form')
  }
  if (!isSameOrigin(gateway, request))
    throw gatewayError('forbidden', 'This form was sent from another site.')
  return parseFields(new URLSearchParams(text))
}

/** Rejects duplicate fields, which a check and later code could read differently. */
export function parseFields(params: URLSearchParams): Map<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of params) {
    if (fields.has(name)) throw invalidFieldError(name, 'is sent more than once')
    fields.set(name, value)
  }
  return fields
}

export function redirectSeeOther(location: string): Response {
  return new Response(null, {
    status: 303,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  })
}

export interface Visitor {
  member: Member
  session: Session
  sessionToken: string
}

export async function findVisitor(gateway: Gateway, request: Request): Promise<Visitor | undefined> {
  const sessionToken = sessionTokenOf(gateway, request)
  const found = sessionToken && (await findSession(gateway, sessionToken))
  return sessionToken && found ? { ...found, sessionToken } : undefined
}

interface CookieOptions {
  name: string
  /** An empty value makes the browser delete the cookie. */
  value: string
  /** A path of this server: that of its proxy is added. */
  path: string
  maxAge: number
}

export function setCookie(
  gateway: Gateway,
  request: Request,
  response: Response,
  { name, value, path, maxAge }: CookieOptions,
): Response {
  const prefix = pathPrefixOf(gateway)
  const cookie = new Bun.Cookie(name, value, {
    path: path === '/' ? prefix || '/' : prefix + path,
    maxAge: value === '' ? 0 : maxAge,
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(gateway, request),
  })
  response.headers.append('set-cookie', cookie.serialize())
  return response
}

export function setSessionCookie(
  gateway: Gateway,
  request: Request,
  response: Response,
  token: string,
): Response {
  const maxAge = gateway.settings.sessions.lifetime / 1000
  const name = sessionCookieOf(gateway, request)
  return setCookie(gateway, request, response, { name, value: token, path: '/', maxAge })
}

/** Proves that the form comes from a page served to this visitor. */
export function createCsrfToken(gateway: Gateway, visitor: Visitor, purpose: string): string {
  return gateway.vault.sign(`${purpose}:${sha256(visitor.sessionToken)}`)
}

export function verifyCsrfToken(
  gateway: Gateway,
  visitor: Visitor,
  purpose: string,
  sent: string | undefined,
): void {
  if (!isSameText(sent ?? '', createCsrfToken(gateway, visitor, purpose))) {
    throw gatewayError('forbidden', 'This form has expired. Go back, reload the page and try again.')
  }
}

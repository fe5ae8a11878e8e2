import type { JWTPayload } from 'jose'
import { loadProvider } from '../../../access/sign-in-provider.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { transactAs } from '../../../governance/audit/transaction.ts'
import type { RawRoute } from '../../../http/operation.ts'
import { describeFailure } from '../../../identity/oidc/providers.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import type { SsoConnection } from '../../../identity/sign-in-rules.ts'
import { findConnectionsOfClient } from '../../../identity/sso-connections.ts'
import { claimToken, endSsoSessions } from '../../../identity/sso-sessions.ts'
import { loadJose } from '../../../platform/crypto/jose.ts'
import { bodyPaceOf, readBodyText } from '../../../platform/http/body-reader.ts'
import { ssoOriginOf } from './finish.ts'

const maxBodyBytes = 16 * 1024
/** A logout token is sent at once; it need not be accepted for longer. */
const maxAgeSeconds = 300
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

class LogoutTokenProblem extends Error {}

/** OpenID Connect Back-Channel Logout 1.0: the provider says that a session, or a person, has signed out. */
async function receiveLogoutToken(gateway: Gateway, request: Request): Promise<Response> {
  try {
    const text = await readBodyText(request, { maxBytes: maxBodyBytes, pace: bodyPaceOf(gateway) })
    const token = new URLSearchParams(text).get('logout_token')
    if (token === null) throw new LogoutTokenProblem('logout_token is missing')
    const connections = await findAddressees(gateway, token)
    for (const connection of connections) await endSessions(gateway, request, connection, token)
    return new Response(null, { status: 200, headers: { 'cache-control': 'no-store' } })
  } catch (error) {
    if (!(error instanceof LogoutTokenProblem)) throw error
    const body = { error: 'invalid_request', error_description: error.message }
    return Response.json(body, { status: 400, headers: { 'cache-control': 'no-store' } })
  }
}

/** The connections that the token is for, by what it says before it is verified. */
async function findAddressees({ db }: Gateway, token: string): Promise<SsoConnection[]> {
  const { decodeJwt } = await loadJose()
  let claims: JWTPayload
  try {
    claims = decodeJwt(token)
  } catch {
    throw new LogoutTokenProblem('logout_token is not a JWT')
  }
  const audience = [claims.aud ?? []].flat().slice(0, 10)
  const connections = await findConnectionsOfClient(db, claims.iss ?? '', audience)
  if (connections.length === 0) throw new LogoutTokenProblem('iss or aud is unknown')
  return connections
}

async function endSessions(
  gateway: Gateway,
  request: Request,
  connection: SsoConnection,
  token: string,
): Promise<void> {
  const { jti, exp, sid, sub } = await verifyLogoutToken(gateway, connection, token)
  await transactAs(gateway, ssoOriginOf(gateway, request, connection), async (tx, record) => {
    const expiresAt = (exp + maxAgeSeconds) * 1000
    const isNew = await claimToken(tx, gateway.clock, `logout:${connection.id}:${jti}`, expiresAt)
    if (!isNew) throw new LogoutTokenProblem('jti was used before')
    await lockOrganization(tx, connection.organization_id)
    const members = await endSsoSessions(tx, connection.id, { sid, subject: sub })
    for (const id of members) {
      const details = { method: 'oidc', reason: 'signed out at the identity provider' }
      record({ action: 'session.delete', target: { type: 'member', id }, details })
    }
  })
}

async function verifyLogoutToken(gateway: Gateway, connection: SsoConnection, token: string) {
  const { keys } = await loadProvider(gateway, connection).catch((error: unknown) => {
    throw new LogoutTokenProblem(describeFailure(error))
  })
  const { payload, protectedHeader } = await keys
    .verify(token, {
      issuer: connection.issuer,
      audience: connection.client_id,
      requiredClaims: ['iat', 'jti', 'exp', 'events'],
      maxTokenAge: maxAgeSeconds,
    })
    .catch((error: unknown) => {
      throw new LogoutTokenProblem(`logout_token is not valid: ${describeFailure(error)}`)
    })
  const { events, nonce, sid, sub, jti, exp = 0 } = payload
  // An ID token is signed with the same key.
  const isEvent = typeof events === 'object' && events !== null && Object.hasOwn(events, logoutEvent)
  const isType = /^(?:application\/)?(?:logout\+)?jwt$/i.test(protectedHeader.typ ?? 'JWT')
  if (!isEvent || nonce !== undefined || !isType)
    throw new LogoutTokenProblem('the token is not a logout token')
  const ids = { sid: textOrNull(sid), sub: textOrNull(sub), jti: textOrNull(jti), exp }
  if (ids.jti === null || (ids.sid === null && ids.sub === null))
    throw new LogoutTokenProblem('jti, and sub or sid, are required')
  return ids
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

export const backchannelPages: RawRoute[] = [
  { method: 'POST', path: '/signin/oidc/backchannel-logout', handle: receiveLogoutToken },
]

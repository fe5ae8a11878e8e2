import { resolveRequestSource } from '../../../access/client-address.ts'
import { pathPrefixOf } from '../../../access/origin.ts'
import { loadProvider, redirectUriOf } from '../../../access/sign-in-provider.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { PathRequest, RawRoute } from '../../../http/operation.ts'
import { createPage, redirectSeeOther, setCookie, setSessionCookie } from '../../../http/pages/browser.ts'
import { renderForwardPage } from '../../../http/pages/forward.ts'
import { renderProblemPage } from '../../../http/pages/markup.ts'
import { returnCookie } from '../../../http/pages/return-path.ts'
import { readReturnPath } from '../../../http/pages/sign-in.ts'
import { loadOidcClient } from '../../../identity/oidc/client.ts'
import { describeFailure, type OidcProvider } from '../../../identity/oidc/providers.ts'
import type { SsoConnection } from '../../../identity/sign-in-rules.ts'
import { findConnection, scopesOf } from '../../../identity/sso-connections.ts'
import { SignInRefused } from '../../../identity/sso-identities.ts'
import { uuidPattern } from '../../../platform/crypto/ids.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { networkOf } from '../../../platform/http/client-network.ts'
import { parseRequestUrl } from '../../../platform/http/request-url.ts'
import { subsystemLog } from '../../../platform/logging/subsystem-log.ts'
import type { Claims } from './claims.ts'
import { finishSignIn, recordRefusal, type SignInProof } from './finish.ts'
import { clearLoginState, type LoginState, newExpiry, readLoginState, saveLoginState } from './login-state.ts'

/** An office may have one address. */
const requestsPerMinute = 600

/** Sends the browser to the provider. */
async function beginSignIn(gateway: Gateway, request: PathRequest): Promise<Response> {
  await limitRequests(gateway, request, 'begin')
  const connection = await requireConnection(gateway, request.params?.connection ?? '')
  const provider = await findProvider(gateway, connection)
  if (!provider) return renderUnavailablePage(gateway)
  const oidc = await loadOidcClient()
  const login: LoginState = {
    connectionId: connection.id,
    state: oidc.randomState(),
    nonce: oidc.randomNonce(),
    codeVerifier: oidc.randomPKCECodeVerifier(),
    redirectUri: redirectUriOf(gateway, request),
    returnTo: readReturnPath(request),
    expiresAt: newExpiry(gateway),
  }
  const url = oidc.buildAuthorizationUrl(provider.config, {
    response_type: 'code',
    redirect_uri: login.redirectUri,
    scope: scopesOf(connection).join(' '),
    state: login.state,
    nonce: login.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(login.codeVerifier),
    code_challenge_method: 'S256',
  })
  return saveLoginState(gateway, request, forwardToProvider(gateway, request, connection, url.href), login)
}

function forwardToProvider(
  gateway: Gateway,
  request: Request,
  { name }: SsoConnection,
  url: string,
): Response {
  if (request.headers.get('sec-fetch-site') !== 'same-origin') return redirectSeeOther(url)
  return renderForwardPage(gateway, { title: 'Single sign-on', link: `Continue to ${name}`, url })
}

/** Handles the address to which the provider sends the browser back. */
async function receiveCallback(gateway: Gateway, request: PathRequest): Promise<Response> {
  await limitRequests(gateway, request, 'callback')
  const login = readLoginState(gateway, request)
  if (!login)
    throw gatewayError(
      'invalid_request',
      'This sign-in has expired, or began in another browser. Start again.',
    )
  const connection = await requireConnection(gateway, login.connectionId)
  const provider = await findProvider(gateway, connection)
  if (!provider) return renderUnavailablePage(gateway)
  try {
    const proof = await verifyCallback(gateway, request, { provider, connection, login })
    const token = await finishSignIn(gateway, request, proof)
    const response = redirectSeeOther(pathPrefixOf(gateway) + login.returnTo)
    setSessionCookie(gateway, request, response, token)
    clearLoginState(gateway, request, response)
    return setCookie(gateway, request, response, { ...returnCookie, value: '' })
  } catch (error) {
    if (!(error instanceof SignInRefused)) throw error
    throw gatewayError('forbidden', error.message)
  }
}

async function verifyCallback(
  gateway: Gateway,
  request: Request,
  { provider, connection, login }: { provider: OidcProvider; connection: SsoConnection; login: LoginState },
): Promise<SignInProof> {
  try {
    return { connection, login, ...(await exchangeCode(provider, request, connection, login)) }
  } catch (error) {
    const reason = await describeRefusal(error)
    subsystemLog(gateway.log, 'identity').warn(
      { connection: connection.id, reason },
      'single sign-on rejected',
    )
    await recordRefusal(gateway, request, connection, { reason })
    throw gatewayError('forbidden', `The sign-in could not be verified: ${reason} Start again.`)
  }
}

/** Throws unless everything that the provider sent is valid, and was sent for this sign-in. */
async function exchangeCode(
  { config, keys }: OidcProvider,
  request: Request,
  { issuer, client_id }: SsoConnection,
  login: LoginState,
): Promise<{ idToken: string; subject: string; sid: string | null; claims: Claims }> {
  const { authorizationCodeGrant, fetchUserInfo } = await loadOidcClient()
  const callback = new URL(login.redirectUri)
  callback.search = parseRequestUrl(request).search
  const tokens = await authorizationCodeGrant(config, callback, {
    pkceCodeVerifier: login.codeVerifier,
    expectedState: login.state,
    expectedNonce: login.nonce,
    idTokenExpected: true,
  })
  const idToken = tokens.id_token ?? ''
  const { payload } = await keys.verify(idToken, { issuer, audience: client_id })
  const subject = payload.sub ?? ''
  const hasUserInfo = config.serverMetadata().userinfo_endpoint !== undefined
  const userInfo = hasUserInfo ? await fetchUserInfo(config, tokens.access_token, subject) : {}
  const sid = typeof payload.sid === 'string' ? payload.sid : null
  return { idToken, subject, sid, claims: { ...userInfo, ...payload } }
}

/** A sentence for the page and the audit log, without anything that the provider could choose freely. */
async function describeRefusal(error: unknown): Promise<string> {
  const { AuthorizationResponseError, ResponseBodyError } = await loadOidcClient()
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const code = /^[a-z_]{1,64}$/.test(error.error) ? error.error : 'an error'
    return `the identity provider answered ${code}.`
  }
  return `${describeFailure(error).replace(/\.$/, '')}.`
}

async function requireConnection(gateway: Gateway, id: string): Promise<SsoConnection> {
  const connection = uuidPattern.test(id) ? await findConnection(gateway.db, id.toLowerCase()) : undefined
  if (!connection) throw gatewayError('not_found', 'This single sign-on does not exist.')
  return connection
}

/** Null if its metadata cannot be read. */
async function findProvider(gateway: Gateway, connection: SsoConnection): Promise<OidcProvider | null> {
  try {
    return await loadProvider(gateway, connection)
  } catch (error) {
    const reason = describeFailure(error)
    subsystemLog(gateway.log, 'identity').warn(
      { connection: connection.id, reason },
      'identity provider not available',
    )
    return null
  }
}

function renderUnavailablePage(gateway: Gateway): Response {
  return renderProblemPage(
    gateway,
    503,
    'The identity provider cannot be used at the moment. Try again, or ask an admin of your organization to test the connection.',
  )
}

function limitRequests(gateway: Gateway, request: Request, step: 'begin' | 'callback'): void | Promise<void> {
  const { ip } = resolveRequestSource(gateway, request)
  const message = 'Too many sign-ins from this address. Try again in a minute.'
  return gateway.rateLimiter.consume(
    `single sign-on ${step} ${networkOf(ip ?? '')}`,
    requestsPerMinute,
    gateway.clock.now(),
    message,
  )
}

export const ssoSignInPages: RawRoute[] = [
  createPage('GET', '/signin/oidc/:connection', beginSignIn),
  createPage('GET', '/signin/oidc/callback', receiveCallback),
]

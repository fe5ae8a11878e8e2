import type { Gateway } from '../gateway/gateway.ts'
import { loadOidcClient } from '../identity/oidc/client.ts'
import { findConnection } from '../identity/sso-connections.ts'
import { findSsoSession, idTokenContext } from '../identity/sso-sessions.ts'
import { findUrlProblem } from '../platform/http/egress-policy.ts'
import { resolvePublicUrl } from './origin.ts'
import { loadProvider } from './sign-in-provider.ts'

/**
 * Finds the URL at which the browser signs out of the identity provider of a session; null if there is none. Call it
 * before the session is deleted.
 */
export async function findProviderSignOutUrl(
  gateway: Gateway,
  httpRequest: Request,
  sessionToken: string,
): Promise<string | null> {
  const session = await findSsoSession(gateway.db, sessionToken)
  const connection = session && (await findConnection(gateway.db, session.connection_id))
  if (!session || !connection) return null
  const provider = await loadProvider(gateway, connection).catch(() => null)
  const endpoint = provider?.config.serverMetadata().end_session_endpoint
  if (!provider || endpoint === undefined) return null
  if (findUrlProblem(URL.parse(endpoint), gateway.settings.egress.allow_private)) return null
  const { buildEndSessionUrl } = await loadOidcClient()
  const url = buildEndSessionUrl(provider.config, {
    id_token_hint: gateway.vault.decrypt(session.sealed_id_token, idTokenContext(session.token_hash)),
    post_logout_redirect_uri: `${resolvePublicUrl(gateway, httpRequest)}/signin`,
  })
  return url.href
}
